"""What the compiler can say of a network's forces before it runs them: whether they are gradients, and what follows."""
