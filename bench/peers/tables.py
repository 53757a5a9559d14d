"""Tables of the results, for people."""


def number(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def peer_cell(row):
    """What one peer did on one model."""
    if "ended" in row:
        return f"> {row['after']:.3g}" if row["ended"] == "time" else row["ended"]
    seconds = number(row["seconds"])
    return seconds if row["right"] else f"wrong by {row['error']:.2g} ({seconds})"


def markdown_table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(text) for text in line) + " |" for line in lines)


def text_table(heads, rows):
    """In columns, two spaces apart."""
    lines = [[str(text) for text in line] for line in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip()
                     for line in lines)
