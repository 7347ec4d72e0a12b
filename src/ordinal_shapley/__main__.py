"""``python -m ordinal_shapley`` is the command ``ordinal-shapley``."""

import sys


def main() -> None:
    """Run the command line, without a traceback if Ctrl-C comes while its modules load."""
    try:
        from ordinal_shapley.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
