"""Answer an AdmissionReview in your own web server: ``webhooks.admission`` needs neither Flask nor gunicorn.

Run it: ``python examples/answer_a_review.py``
"""

import json

from validators.object_lookup import NOTHING
from validators.rules.base import Settings
from webhooks.admission import review
from webhooks.admission import verdict as admit

BODY = json.dumps(
    {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7f0b2891-916f-4ed6-b7cd-27bff1815a8c",
            "kind": {"group": "scheduling.k8s.io", "version": "v1beta1", "kind": "PodGroup"},
            "operation": "CREATE",
            "name": "workers",
            "namespace": "default",
            "object": {
                "apiVersion": "scheduling.k8s.io/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": "workers", "namespace": "default"},
                "spec": {"schedulingPolicy": {"basic": {}, "gang": {"minCount": 4}}},
            },
        },
    }
).encode()

request = review.decode(BODY)
verdict = admit.validate(request, NOTHING, Settings())
print(json.dumps(json.loads(review.encode(request, verdict)), indent=2))
