"""How ids are written for people."""

LABELS = {
    "causal_dq": "Causal DQ",
    "non_causal": "Non-causal DQ",
    "sdq": "SDQ-style",
    "causal_state_only": "causal state alone",
    "causal_reward_only": "causal reward alone",
    "causal_entropy_only": "causal entropy alone",
    "tssrp": "TSSRP",
    "tssrp_cov": "TSSRP with covariance",
    "asmp": "ASMP",
    "cmab": "CMAB",
    "tras": "TRAS",
    "bsscd": "BSSCD",
    "cds": "CDS",
    "aucrss": "AUCRSS",
    "eps_glr": "Epsilon-greedy GLR",
    "cusum": "CUSUM, all known",
    "bayes_posterior": "Bayes posterior",
    "any_shift": "Shifts of any kind",
    "innovation_filter": "Innovation filter",
    "causal_dq_eq": "Causal DQ, location-agnostic",
    "non_causal_eq": "Non-causal DQ, location-agnostic",
    "causal_sr": "Root-cause mixture",
    "causal_sr_known": "Root-cause mixture, true graph",
    "causal_sr_no_graph": "control: no graph",
    "causal_sr_correlation": "control: correlation only",
    "causal_sr_random_order": "control: random order",
    "causal_sr_reversed": "control: reversed graph",
    "case_a": "case (a)",
    "case_b": "case (b)",
    "no_edges": "no edges",
    "low": "low quality",
    "standard": "estimated",
    "ground_truth": "the true graph",
    "extreme": "few sensors",
    "tep": "Tennessee Eastman",
    "sfd": "solar flares",
    "paper": "the paper's protocol",
    "fair": "fair protocol",
}


def label(name: str) -> str:
    """An id in words; a new method needs no entry here."""
    return LABELS.get(name, name.replace("_", " ").capitalize())
