"""``python -m ordinal_shapley`` is the command ``ordinal-shapley``."""

from ordinal_shapley.cli import main

if __name__ == "__main__":
    main()
