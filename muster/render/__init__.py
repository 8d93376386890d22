"""Output of answers for people and scripts.

answer          the answer of a simulation: decisions, pending pods, counts, exit status
answer_json     as JSON, version 1
cause_json      causes as JSON
cause_keys      words and keys of causes in JSON, from their classes and the types of their fields
problem_words   problems and notes in words; queue_words: those about queues of Kueue
drain_facts     what trials tell about drained nodes and later updates, as values
file_notes      problems of files and of requests to an API server, as values
answer_text     as text; root_text: one root of it
object_results  results of the objects that a person wrote; verdict_words: parts of a verdict in words
object_heading  heading of a page, about these objects
tree_rows       one decision as rows, parents first
phrases         lists and long texts in a few lines
yaml_text       JSON values as YAML that people read

Imports ``expansion``, ``scheduler_core`` and ``validators``; nothing of ``muster`` outside this package.
"""
