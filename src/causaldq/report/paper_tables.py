"""The paper's smaller tables, each beside what was measured."""

import pandas as pd

from causaldq.config import Config
from causaldq.report.labels import label
from causaldq.report.tables import delay_cell, escaped

TRAIN_TEST_CAPTION = (
    "Shift in training against shift in the test, case (a). Delay (standard error), the paper's in"
    r" \textcolor{gray}{grey}; bold as in the other tables. A network trained at"
    r" $\delta_{\mathrm{train}}=1$ is the one of the noise-free tables."
)
METRICS_CAPTION = (
    "Quality of the estimated graph on the streams that training selects, mean over the last 50"
    " epochs (all, if there are fewer) and seeds, and on the whole graph. The graph is estimated on"
    " in-control rows, so that the noise on the shift reaches it only through the streams selected."
)
QUALITY_CAPTION = (
    r"What the quality of the graph is worth: $p=50$, $m=12$, $\delta=1$, $\sigma=0.1$. Low: true"
    " edges replaced by false ones until the paper's shares are met. Delays (standard error) of the"
    " agent trained with that graph."
)
SENSITIVITY_CAPTION = (
    "Sensitivity at $p=50$, $m=12$, $k=10$, fair protocol: memory of the statistic, density of the"
    " causal graph, and shifts that flow to the descendants of a shifted stream, each changed"
    " alone. First, for comparison, the same methods with nothing changed (decay {decay:g}), as in"
    " the other tables. Delay (standard error); bold as there."
)
UNCHANGED = "nothing changed"
HYPERPARAMETER_CAPTION = (
    r"Hyperparameters as used; the paper's in \textcolor{gray}{grey} where they differ. Below: what"
    " the paper leaves open or contradicts, and how it is settled here."
)
SETTLED = [
    ("hidden layers", "four of 256, as in its table; the text says three"),
    ("optimiser", "as named in the paper (SGD); the same for all learned methods"),
    ("replay, target copies, updates", "not stated; the same for all learned methods"),
    ("temperature", "starts at 1, cools by the table's factor each epoch, floor 0.05"),
    ("statistic", "normalised to its claimed law; as printed its scale is off by $2-\\lambda$"),
]


def _grey(value: float, digits: int) -> str:
    return "" if pd.isna(value) else rf" \textcolor{{gray}}{{\footnotesize {value:.{digits}f}}}"


def _number(value: float, digits: int) -> str:
    return "--" if pd.isna(value) else f"{value:.{digits}f}"


def _tabular(columns: str, lines: list[str]) -> str:
    head = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    return "\n".join([*head, *lines, r"\bottomrule", r"\end{tabular}", ""])


def train_test_table(rows: pd.DataFrame) -> str:
    deltas = sorted(rows["delta"].unique())
    columns = ["$p$", r"$\delta_{\mathrm{train}}$", "Method"]
    columns += [rf"$\delta={delta:g}$" for delta in deltas]
    lines = [" & ".join(columns) + r" \\"]
    for protocol, panel in rows.groupby("protocol", sort=False):
        width = len(deltas) + 3
        title = label(str(protocol)).capitalize()
        lines += [r"\midrule", rf"\multicolumn{{{width}}}{{@{{}}l}}{{\emph{{{title}}}}} \\"]
        for (p, delta_train, method), part in panel.groupby(["p", "delta_train", "method"]):
            cells = part.assign(way_to_oracle=float("nan")).set_index("delta")
            texts = [delay_cell(cells.loc[d]) if d in cells.index else "" for d in deltas]
            lines.append(f"{p} & {delta_train:g} & {label(str(method))} & {' & '.join(texts)} \\\\")
    return _tabular("rrl" + "r" * len(deltas), lines)


def metrics_table(rows: pd.DataFrame) -> str:
    lines = [
        r" & & \multicolumn{3}{c}{selected streams} & \multicolumn{3}{c}{whole graph} \\",
        r"\cmidrule(lr){3-5}\cmidrule(l){6-8}",
        r"$p$ & $\sigma$ & mSHD & mTPR & mFDR & SHD & TPR & FDR \\",
        r"\midrule",
    ]
    for _, row in rows.sort_values(["p", "sigma"]).iterrows():
        cells = [
            _number(row["mshd"], 1) + _grey(row["published_mshd"], 1),
            _number(row["mtpr"], 2) + _grey(row["published_mtpr"], 2),
            _number(row["mfdr"], 2) + _grey(row["published_mfdr"], 2),
            _number(row["whole_shd"], 0),
            _number(row["whole_tpr"], 2),
            _number(row["whole_fdr"], 2),
        ]
        lines.append(f"{row['p']} & {row['sigma']:g} & {' & '.join(cells)} \\\\")
    return _tabular("rrrrrrrr", lines)


def quality_table(graphs: pd.DataFrame, delays: pd.DataFrame) -> str:
    lines = [
        r"Graph & mSHD & mTPR & mFDR & delay, paper's protocol & delay, fair protocol \\",
        r"\midrule",
    ]
    measured = delays.set_index(["setting", "protocol"])
    for _, row in graphs.iterrows():
        cells = [
            _number(row["mshd"], 1) + _grey(row["published_mshd"], 1),
            _number(row["mtpr"], 2) + _grey(row["published_mtpr"], 2),
            _number(row["mfdr"], 2) + _grey(row["published_mfdr"], 2),
        ]
        for protocol in ("paper", "fair"):
            place = (row["setting"], protocol)
            if place not in measured.index:
                cells.append("")
                continue
            cell = measured.loc[place]
            text = f"{_number(cell['add'], 1)} ({_number(cell['se'], 1)})"
            cells.append(text + (_grey(cell["published_add"], 0) if protocol == "paper" else ""))
        lines.append(f"{label(str(row['setting']))} & {' & '.join(cells)} \\\\")
    return _tabular("lrrrrr", lines)


def sensitivity_rows(changed: pd.DataFrame, noise_free: pd.DataFrame) -> pd.DataFrame:
    """What was measured with one thing changed, after the same problem with nothing changed."""
    same = noise_free["setting"] == "case_a"
    for column in ("p", "m", "k", "delta", "method"):
        same &= noise_free[column].isin(changed[column])
    return pd.concat([noise_free[same].assign(setting=UNCHANGED), changed], ignore_index=True)


def sensitivity_table(rows: pd.DataFrame) -> str:
    rows = rows[rows["protocol"] == "fair"]
    deltas = sorted(rows["delta"].unique())
    lines = ["Method & " + " & ".join(rf"$\delta={d:g}$" for d in deltas) + r" & ARL$_0$ \\"]
    for setting, panel in rows.groupby("setting", sort=False):
        width = len(deltas) + 2
        title = escaped(label(str(setting)))
        lines += [r"\midrule", rf"\multicolumn{{{width}}}{{@{{}}l}}{{\emph{{{title}}}}} \\"]
        for method, part in panel.groupby("method", sort=False):
            cells = part.assign(way_to_oracle=float("nan")).set_index("delta")
            texts = [delay_cell(cells.loc[d]) if d in cells.index else "" for d in deltas]
            reached = f"{part['arl0'].iloc[0]:.0f}"
            lines.append(f"{label(str(method))} & {' & '.join(texts)} & {reached} \\\\")
    return _tabular("l" + "r" * (len(deltas) + 1), lines)


def hyperparameter_rows(config: Config, published: pd.DataFrame) -> pd.DataFrame:
    """What each setting uses beside what the paper prints."""
    rows = []
    for _, printed in published.iterrows():
        used = config.hyperparameters.get(str(printed["setting"]))
        if used is None:
            continue
        hidden = f"{config.agent.hidden[0]}x{len(config.agent.hidden)}"
        values = used.model_dump() | {"hidden": hidden}
        row: dict[str, object] = {"setting": printed["setting"]}
        for column in published.columns[1:]:
            row |= {column: values[column], f"published_{column}": printed[column]}
        rows.append(row)
    return pd.DataFrame(rows)


def hyperparameter_table(config: Config, rows: pd.DataFrame) -> str:
    columns = ["entropy_weight", "learning_rate", "discount", "hidden", "batch"]
    columns.append("temperature_decay")
    lines = [
        r"Setting & $\alpha$ & learning rate & $\gamma$ & hidden & batch & $\tau$ \\",
        r"\midrule",
    ]
    for _, row in rows.iterrows():
        cells = []
        for column in columns:
            used, printed = row[column], row[f"published_{column}"]
            differs = str(used) != str(printed)
            cells.append(f"{used}" + (rf" \textcolor{{gray}}{{{printed}}}" if differs else ""))
        size, _, more = str(row["setting"]).removeprefix("p").partition("_")
        name = f"$p={size}$" + (f" with {more}" if more else "")
        lines.append(f"{name} & {' & '.join(cells)} \\\\")
    agent = config.agent
    facts = [
        *SETTLED,
        ("epochs", f"{agent.epochs} of {agent.episodes} episodes of {agent.episode_steps} steps"),
    ]
    lines.append(r"\midrule")
    for name, how in facts:
        lines.append(rf"\multicolumn{{2}}{{@{{}}l}}{{{name}}} & \multicolumn{{5}}{{l}}{{{how}}} \\")
    return _tabular("lrrrrrr", lines)
