"""What is said of the cases: a table, here and in README.md, and the logs of what failed."""

import re

COLUMNS = ("case", "framework", "nodes", "shown", "result")
TAIL = 40


def table(rows):
    """Prints the table with the seconds that each case took."""
    columns = (*COLUMNS, "seconds")
    lines = [columns, *([str(row.get(column, "")) for column in columns] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        print("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip())


def failure(name, problem, logs):
    print(f"--- {name}: {problem}")
    for log in sorted(logs.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        print(f"--- {log}: the last of {len(lines)} lines")
        print("\n".join(lines[-TAIL:]))


def record(page, rows):
    """Puts the rows into the page's table, where rows of the same cases stood."""
    text = page.read_text()
    begin, end = "<!-- results -->\n", "<!-- end -->"
    before, rest = text.split(begin, 1)
    old, after = rest.split(end, 1)
    kept = {match.group(1): line for line in old.splitlines() if (match := re.match(r"\| `([^`]+)` \|", line))}
    for row in rows:
        cells = [f"`{row['case']}`", *(str(row.get(column, "")) for column in COLUMNS[1:])]
        kept[row["case"]] = f"| {' | '.join(cells)} |"
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    page.write_text(before + begin + head + "".join(kept[name] + "\n" for name in sorted(kept)) + end + after)
