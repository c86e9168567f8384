"""What all layers share: columns, blocks of work, iterations, warnings, numerical policy."""
