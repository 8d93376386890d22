"""Feature gates with which the API server or the scheduler of a version does not start, although it started with them one version before.

Source: the feature packages of Kubernetes 1.37.1 and 1.38.0-beta.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

REMOVED: Mapping[int, frozenset[str]] = {
    38: frozenset(
        {
            "AggregatedDiscoveryRemoveBetaType",
            "AllowOverwriteTerminationGracePeriodSeconds",
            "CRDValidationRatcheting",
            "CustomResourceFieldSelectors",
            "DisableAllocatorDualWrite",
            "DynamicResourceAllocation",
            "ExecProbeTimeout",
            "InPlacePodVerticalScaling",
            "JobManagedBy",
            "KubeletTracing",
            "MatchLabelKeysInPodAffinity",
            "MultiCIDRServiceAllocator",
            "NFTablesProxyMode",
            "NodeSwap",
            "PodGroupPreemptionPolicy",
            "PodSchedulingReadiness",
            "PreferSameTrafficDistribution",
            "RecoverVolumeExpansionFailure",
            "SeparateTaintEvictionController",
            "ServiceAccountTokenJTI",
            "ServiceAccountTokenNodeBinding",
            "ServiceAccountTokenNodeBindingValidation",
            "ServiceAccountTokenPodNodeInfo",
            "SupplementalGroupsPolicy",
            "WinDSR",
            "WinOverlay",
            "WindowsHostNetwork",
        }
    )
}
"""Gates by the first version that does not know them; naming one of them is an error, whatever its value."""

LOCKED: Mapping[int, frozenset[str]] = {
    38: frozenset(
        {
            "AuthorizePodWebsocketUpgradeCreatePermission",
            "DRADeviceBindingConditions",
            "DRADeviceTaintRules",
            "DRADeviceTaints",
            "DRAPartitionableDevices",
            "EnvFiles",
            "ExtendWebSocketsToKubelet",
            "HPAGeneration",
            "PortForwardWebsockets",
            "StrictIPCIDRValidation",
            "TranslateStreamCloseWebsocketRequests",
        }
    )
}
"""Gates by the first version in which they cannot be switched off."""


def refused_gates(switches: Mapping[str, bool], version: int) -> Iterator[tuple[str, int]]:
    """Yield the gates of *switches* with which a program of *version* does not start, each with the version that changed it, in order."""
    for name, on in sorted(switches.items()):
        for since in sorted({*REMOVED, *LOCKED}):
            if since <= version and (name in REMOVED.get(since, ()) or (not on and name in LOCKED.get(since, ()))):
                yield name, since
                break
