"""Argo Workflows (argoproj.io).

workflow            Workflow, and the next one of a CronWorkflow: the pods that can run at a time
workflow_pods       evaluation of the templates of a workflow
workflow_templates  templates of a workflow, of WorkflowTemplates and with their defaults
workflow_values     values of parameters and items in templates
peaks               most pods of each shape that can run at a time
"""
