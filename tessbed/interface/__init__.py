"""The Python interface: what `import tessbed` exports beside the array functions."""
