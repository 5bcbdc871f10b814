"""Whole phases, as targets for people and for DVC's stages."""


rule data:
    input:
        PLAN.place_all(places.STREAMS, source=SETTINGS.sources),
        PLAN.place_all(places.INJECTED, scenario=SETTINGS.scenarios),


rule graphs:
    input:
        PLAN.place_all(places.GRAPH, graph=PLAN.graphs()),
        PLAN.place_all(places.POSSIBLE_GRAPHS, source=PLAN.with_possible_graphs()),


rule networks:
    input:
        PLAN.place_all(
            places.CHECKPOINT, network=[*PLAN.networks, *PLAN.shared_networks()]
        ),


rule delays:
    input:
        AGGREGATE.outputs["add"],
