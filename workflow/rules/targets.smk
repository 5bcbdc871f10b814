"""Whole phases, as targets for people and for DVC's stages."""


rule data:
    input:
        expand(STREAMS, source=list(SETTINGS.sources)),
        expand(INJECTED, scenario=list(SETTINGS.scenarios)),


rule graphs:
    input:
        expand(GRAPH, graph=PLAN.graphs()),
        expand(POSSIBLE_GRAPHS, source=PLAN.with_possible_graphs()),


rule networks:
    input:
        expand(CHECKPOINT, network=[*PLAN.networks, *PLAN.shared_networks()]),


rule delays:
    input:
        f"{RESULTS}/add.csv",
