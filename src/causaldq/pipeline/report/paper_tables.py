"""The paper's smaller tables, each beside what was measured."""

import pandas as pd

from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.graphs import LAST_EPOCHS
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, grey, heading, latex, line, tabular
from causaldq.pipeline.report.tables import delay_cell

TRAIN_TEST_CAPTION = (
    "Average detection delay where the shift in the test is not the one in training, with shifts in"
    r" one direction (case (a)). Rows have the number of streams $p$, the shift"
    r" $\delta_{\mathrm{train}}$ in training and the method, and columns the shift in the test."
    " Standard errors are in parentheses, and the paper's numbers are in"
    r" \textcolor{gray}{grey}. Bold marks delays that paired tests cannot tell from the shortest"
    r" of all methods in the same problem. Networks trained at $\delta_{\mathrm{train}}=1$ are"
    " those of the noise-free tables."
)
METRICS_CAPTION = (
    "Quality of the estimated causal graph on the streams that training selects, as a mean over"
    f" seeds and the last {LAST_EPOCHS} epochs (all, if there are fewer), and on the whole graph."
    " SHD is the structural Hamming distance, which counts missed, extra and reversed edges; TPR is"
    " the share of true edges that were found, and FDR the share of found edges that are wrong. The"
    r" paper's numbers are in \textcolor{gray}{grey}. The graph is estimated on in-control rows, so"
    r" that the noise $\sigma$ on the shift reaches it only through the streams selected."
)
QUALITY_CAPTION = (
    "What the quality of the causal graph is worth, with $p={p}$ streams, $m={m}$ sensors, shifts"
    " of $\\delta={delta:g}$ and noise of $\\sigma={sigma:g}$ on them. Each row is an agent trained"
    " with another graph; for low quality, true edges are replaced by false ones until the paper's"
    " shares are met. Edges missed, extra or reversed (mSHD), the share of true edges found (mTPR)"
    " and that of found edges that are wrong (mFDR) are means over the streams selected. Delays are"
    " in steps, with standard errors in parentheses. The paper's numbers are in"
    " \\textcolor{{gray}}{{grey}}."
)
SENSITIVITY_CAPTION = (
    "How delays change when one thing is changed, with $p={p}$ streams, $m={m}$ sensors and"
    " $k={k}$ shifted streams, under the fair protocol. The first panel has nothing changed (decay"
    " {decay:g}). The others change the memory of the statistic, the density of the causal graph,"
    " or let shifts propagate downstream of the shifted streams. Standard errors are in"
    " parentheses. Bold marks delays that paired tests cannot tell from the shortest of all methods"
    " in the same problem. ARL$_0$ is the mean number of steps to a false alarm."
)
UNCHANGED = "nothing changed"
PROBLEM = ("p", "m", "k", "delta", "sigma")
HYPERPARAMETER_CAPTION = (
    r"Hyperparameters of the learned methods, as used here; the paper's are in"
    r" \textcolor{gray}{grey} where they differ. The columns are the weight of the entropy"
    r" $\alpha$, the learning rate, the discount $\gamma$, width and number of the hidden layers,"
    r" the batch size and the factor $\tau$ by which the temperature cools. Below the line is what"
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
    return "" if pd.isna(value) else grey(f"{value:.{digits}f}")


def _number(value: float, digits: int) -> str:
    return "--" if pd.isna(value) else f"{value:.{digits}f}"


def _qualities(row: pd.Series) -> list[str]:
    """Of a graph on the streams selected, the paper's beside ours."""
    digits = {"mshd": 1, "mtpr": 2, "mfdr": 2}
    return [_number(row[m], n) + _grey(row[f"published_{m}"], n) for m, n in digits.items()]


def _by_delta(part: pd.DataFrame, deltas: list[float]) -> list[str]:
    """Delays of a method, a cell for each shift."""
    shown = part.assign(way_to_oracle=float("nan"))
    cells = {cell["delta"]: delay_cell(cell) for _, cell in shown.iterrows()}
    return [cells.get(delta, "") for delta in deltas]


def train_test_table(rows: pd.DataFrame) -> str:
    deltas = sorted(rows["delta"].unique())
    columns = ["$p$", r"$\delta_{\mathrm{train}}$", "Method"]
    columns += [rf"$\delta={delta:g}$" for delta in deltas]
    lines = [line(columns)]
    for protocol, panel in rows.groupby("protocol", sort=False):
        lines += heading(label(str(protocol)).capitalize(), len(deltas) + 3)
        for (p, delta_train, method), part in panel.groupby(["p", "delta_train", "method"]):
            names = [f"{p}", f"{delta_train:g}", label(str(method))]
            lines.append(line([*names, *_by_delta(part, deltas)]))
    return tabular("rrl" + "r" * len(deltas), lines)


def metrics_table(rows: pd.DataFrame) -> str:
    lines = [
        r" & & \multicolumn{3}{c}{selected streams} & \multicolumn{3}{c}{whole graph} \\",
        r"\cmidrule(lr){3-5}\cmidrule(l){6-8}",
        r"$p$ & $\sigma$ & mSHD & mTPR & mFDR & SHD & TPR & FDR \\",
        RULE,
    ]
    for _, row in rows.sort_values(["p", "sigma"]).iterrows():
        whole = {"whole_shd": 0, "whole_tpr": 2, "whole_fdr": 2}
        cells = [*_qualities(row), *(_number(row[name], n) for name, n in whole.items())]
        lines.append(line([f"{row['p']}", f"{row['sigma']:g}", *cells]))
    return tabular("rrrrrrrr", lines)


def quality_table(graphs: pd.DataFrame, delays: pd.DataFrame) -> str:
    lines = [
        r"Graph & mSHD & mTPR & mFDR & delay, paper's protocol & delay, fair protocol \\",
        RULE,
    ]
    measured = delays.set_index(["setting", "protocol"])
    for _, row in graphs.iterrows():
        cells = _qualities(row)
        for protocol in ("paper", "fair"):
            place = (row["setting"], protocol)
            if place not in measured.index:
                cells.append("")
                continue
            cell = measured.loc[place]
            text = f"{_number(cell['add'], 1)} ({_number(cell['se'], 1)})"
            cells.append(text + (_grey(cell["published_add"], 0) if protocol == "paper" else ""))
        lines.append(line([label(str(row["setting"])), *cells]))
    return tabular("lrrrrr", lines)


def sensitivity_rows(changed: pd.DataFrame, noise_free: pd.DataFrame) -> pd.DataFrame:
    """What was measured with one thing changed, after the same problem with nothing changed."""
    same = noise_free["setting"] == "case_a"
    for column in ("p", "m", "k", "delta", "method"):
        same &= noise_free[column].isin(changed[column])
    return pd.concat([noise_free[same].assign(setting=UNCHANGED), changed], ignore_index=True)


def of_problem(rows: pd.DataFrame, caption: str, **said: float) -> str:
    """A caption with the problem that all rows are of."""
    first = rows.iloc[0]
    return caption.format(**{name: first[name] for name in PROBLEM}, **said)


def sensitivity_table(rows: pd.DataFrame) -> str:
    rows = rows[rows["protocol"] == "fair"]
    deltas = sorted(rows["delta"].unique())
    lines = [line(["Method", *(rf"$\delta={d:g}$" for d in deltas), "ARL$_0$"])]
    for setting, panel in rows.groupby("setting", sort=False):
        lines += heading(latex(label(str(setting))), len(deltas) + 2)
        for method, part in panel.groupby("method", sort=False):
            reached = f"{part['arl0'].iloc[0]:.0f}"
            lines.append(line([label(str(method)), *_by_delta(part, deltas), reached]))
    return tabular("l" + "r" * (len(deltas) + 1), lines)


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
        RULE,
    ]
    for _, row in rows.iterrows():
        cells = []
        for column in columns:
            used, printed = row[column], row[f"published_{column}"]
            differs = str(used) != str(printed)
            cells.append(f"{used}" + (rf" \textcolor{{gray}}{{{printed}}}" if differs else ""))
        size, _, more = str(row["setting"]).removeprefix("p").partition("_")
        name = f"$p={size}$" + (f" with {more}" if more else "")
        lines.append(line([name, *cells]))
    agent = config.agent
    facts = [
        *SETTLED,
        ("epochs", f"{agent.epochs} of {agent.episodes} episodes of {agent.episode_steps} steps"),
    ]
    lines.append(RULE)
    for name, how in facts:
        lines.append(rf"\multicolumn{{2}}{{@{{}}l}}{{{name}}} & \multicolumn{{5}}{{l}}{{{how}}} \\")
    return tabular("lrrrrrr", lines)
