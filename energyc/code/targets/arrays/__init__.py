"""The parts that targets share which write equations as operations on whole arrays, whatever their library."""
