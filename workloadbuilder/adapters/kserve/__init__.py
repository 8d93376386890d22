"""KServe (serving.kserve.io), in its version 0.20 with the configuration that it ships.

inferenceservice      InferenceService: a Deployment for each component
serving_runtimes      runtime of a model, and its pods
multi_node            workers of a predictor that runs on several nodes
llminferenceservice   LLMInferenceService: Deployments, or LeaderWorkerSets
llm_configs           configurations that an LLMInferenceService is merged with
model_storage         what KServe adds to pods for a model
"""
