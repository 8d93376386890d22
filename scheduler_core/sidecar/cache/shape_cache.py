"""Shapes of the pods of a live cluster, by form and images."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterator

from scheduler_core.loading.build_pod_shapes import counts_devices_as, shape_of
from scheduler_core.loading.parsed_pod_specs import Images, ParsedPodSpec
from scheduler_core.model.nodes import NodeTable
from scheduler_core.model.pods import PodShape
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE, SchedulerProfile


class ShapeCache:
    """Shapes of pods that are scheduled by *profile*."""

    def __init__(self, profile: SchedulerProfile = DEFAULT_PROFILE) -> None:
        self.profile = profile
        self._shapes: dict[tuple[ParsedPodSpec, Images], PodShape] = {}
        self._allocating: dict[tuple[ParsedPodSpec, Images], PodShape] = {}
        """Those with claims to allocate; each pod with an allocated claim has another shape."""
        self._serials = itertools.count()

    def __contains__(self, key: tuple[ParsedPodSpec, Images]) -> bool:
        return key in self._shapes

    def __len__(self) -> int:
        return len(self._shapes)

    def get(self, form: ParsedPodSpec, images: Images, nodes: NodeTable) -> PodShape:
        """Return the shape of *form* with ``scored_images``."""
        if (shape := self._shapes.get((form, images))) is None:
            shape = self._shapes[form, images] = shape_of(form, images, next(self._serials), nodes, self.profile)
            if any(need.allocates for need in shape.devices):
                self._allocating[form, images] = shape
        return shape

    def clear(self) -> None:
        """Remove all shapes."""
        self._shapes.clear()
        self._allocating.clear()

    def sweep(self, forms: Container[ParsedPodSpec]) -> set[PodShape]:
        """Remove the shapes of other forms than *forms*, and return the shapes that are left."""
        self.drop({form for form, _ in self._shapes if form not in forms})
        return set(self._shapes.values())

    def of_forms(self, has: Callable[[ParsedPodSpec], object]) -> Iterator[PodShape]:
        """Yield the shapes of forms for which *has* is true."""
        return (shape for (form, _), shape in self._shapes.items() if has(form))

    def forms(self) -> Iterator[ParsedPodSpec]:
        """Return the forms that have a shape, in order, some repeatedly."""
        return (form for form, _ in self._shapes)

    def drop(self, forms: Collection[ParsedPodSpec]) -> None:
        """Remove the shapes of *forms*."""
        for key in [each for each in self._shapes if each[0] in forms] if forms else ():
            del self._shapes[key]
            self._allocating.pop(key, None)

    def allocating(self) -> Iterator[PodShape]:
        """Yield the shapes with claims to devices to allocate."""
        return iter(self._allocating.values())

    def with_other_devices(self, nodes: NodeTable, wanted: Callable[[PodShape], bool]) -> set[ParsedPodSpec]:
        """Return the forms of *wanted* shapes whose requests for devices are not those of the present rows of *nodes*."""
        return {form for (form, _), shape in self._allocating.items() if wanted(shape) and not counts_devices_as(shape, nodes)}
