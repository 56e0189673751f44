"""What the targets share that write equations as operations on whole arrays, whatever their library."""
