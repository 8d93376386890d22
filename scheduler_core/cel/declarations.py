"""The variable ``device``, and the functions that selectors can call, as declared in the environment of Kubernetes 1.37 (``apiserver/pkg/cel/environment``, cel-go 0.29).

Each overload is ``id (parameters) -> result``; a method has a dot before its parameters, and its receiver is the first.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from scheduler_core.cel import static_types
from scheduler_core.cel.static_types import BOOL, STRING, Type, map_of

QUANTITY = Type("struct", "kubernetes.Quantity")
DEVICE = Type("struct", "kubernetes.DRADevice")
LATER_FUNCTIONS = frozenset({"includes"})
"""Functions that only stored expressions can call, because the feature gate DRAListTypeAttributes is off."""

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS = {"int64": "int", "uint64": "uint", "double": "double"}
_FORMATS = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix",
    "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
)  # fmt: skip

_DECLARED = """
_?_:_ conditional (bool,A,A) -> A
_&&_ logical_and (bool,bool) -> bool
_||_ logical_or (bool,bool) -> bool
!_ logical_not (bool) -> bool
@not_strictly_false not_strictly_false (bool) -> bool
_==_ equals (A,A) -> bool
_!=_ not_equals (A,A) -> bool
_+_ add_bytes (bytes,bytes) -> bytes
_+_ add_double (double,double) -> double
_+_ add_duration_duration (duration,duration) -> duration
_+_ add_duration_timestamp (duration,timestamp) -> timestamp
_+_ add_timestamp_duration (timestamp,duration) -> timestamp
_+_ add_int64 (int,int) -> int
_+_ add_list (list(A),list(A)) -> list(A)
_+_ add_string (string,string) -> string
_+_ add_uint64 (uint,uint) -> uint
_-_ subtract_double (double,double) -> double
_-_ subtract_duration_duration (duration,duration) -> duration
_-_ subtract_int64 (int,int) -> int
_-_ subtract_timestamp_duration (timestamp,duration) -> timestamp
_-_ subtract_timestamp_timestamp (timestamp,timestamp) -> duration
_-_ subtract_uint64 (uint,uint) -> uint
-_ negate_double (double) -> double
-_ negate_int64 (int) -> int
_[_] index_list (list(A),int) -> A
_[_] index_map (map(A,B),A) -> B
_[_] optional_list_index_int (optional(list(V)),int) -> optional(V)
_[_] optional_map_index_value (optional(map(K,V)),K) -> optional(V)
_[?_] list_optindex_optional_int (list(V),int) -> optional(V)
_[?_] optional_list_optindex_optional_int (optional(list(V)),int) -> optional(V)
_[?_] map_optindex_optional_value (map(K,V),K) -> optional(V)
_[?_] optional_map_optindex_optional_value (optional(map(K,V)),K) -> optional(V)
@in in_list (A,list(A)) -> bool
@in in_map (A,map(A,B)) -> bool
size size_bytes (bytes) -> int
size bytes_size .(bytes) -> int
size size_list (list(A)) -> int
size list_size .(list(A)) -> int
size size_map (map(A,B)) -> int
size map_size .(map(A,B)) -> int
size size_string (string) -> int
size string_size .(string) -> int
type type (A) -> type(A)
dyn to_dyn (A) -> dyn
contains contains_string .(string,string) -> bool
endsWith ends_with_string .(string,string) -> bool
startsWith starts_with_string .(string,string) -> bool
matches matches (string,string) -> bool
matches matches_string .(string,string) -> bool
optional.of optional_of (V) -> optional(V)
optional.ofNonZeroValue optional_ofNonZeroValue (V) -> optional(V)
optional.none optional_none () -> optional(V)
optional.unwrap optional_unwrap (list(optional(V))) -> list(V)
unwrapOpt optional_unwrapOpt .(list(optional(V))) -> list(V)
value optional_value .(optional(V)) -> V
hasValue optional_hasValue .(optional(V)) -> bool
or optional_or_optional .(optional(V),optional(V)) -> optional(V)
orValue optional_orValue_value .(optional(V),V) -> V
first list_first .(list(V)) -> optional(V)
last list_last .(list(V)) -> optional(V)
charAt string_char_at_int .(string,int) -> string
indexOf string_index_of_string .(string,string) -> int
indexOf string_index_of_string_int .(string,string,int) -> int
indexOf list_a_index_of_int .(list(A),A) -> int
lastIndexOf string_last_index_of_string .(string,string) -> int
lastIndexOf string_last_index_of_string_int .(string,string,int) -> int
lastIndexOf list_a_last_index_of_int .(list(A),A) -> int
lowerAscii string_lower_ascii .(string) -> string
upperAscii string_upper_ascii .(string) -> string
replace string_replace_string_string .(string,string,string) -> string
replace string_replace_string_string_int .(string,string,string,int) -> string
split string_split_string .(string,string) -> list(string)
split string_split_string_int .(string,string,int) -> list(string)
substring string_substring_int .(string,int) -> string
substring string_substring_int_int .(string,int,int) -> string
trim string_trim .(string) -> string
format string_format .(string,list(dyn)) -> string
strings.quote strings_quote (string) -> string
join list_join .(list(string)) -> string
join list_join_string .(list(string),string) -> string
find string_find_string .(string,string) -> string
findAll string_find_all_string .(string,string) -> list(string)
findAll string_find_all_string_int .(string,string,int) -> list(string)
slice list_slice .(list(T),int,int) -> list(T)
flatten list_flatten .(list(list(T))) -> list(T)
flatten list_flatten_int .(list(dyn),int) -> list(dyn)
lists.range lists_range (int) -> list(int)
reverse list_reverse .(list(T)) -> list(T)
distinct list_distinct .(list(T)) -> list(T)
includes list_includes_dyn_dyn .(dyn,dyn) -> bool
sets.contains list_sets_contains_list (list(T),list(T)) -> bool
sets.equivalent list_sets_equivalent_list (list(T),list(T)) -> bool
sets.intersects list_sets_intersects_list (list(T),list(T)) -> bool
cel.@mapInsert @mapInsert_map_key_value (map(K,V),K,V) -> map(K,V)
cel.@mapInsert @mapInsert_map_map (map(K,V),map(K,V)) -> map(K,V)
quantity string_to_quantity (string) -> kubernetes.Quantity
isQuantity is_quantity_string (string) -> bool
sign quantity_sign (kubernetes.Quantity) -> int
isInteger quantity_is_integer .(kubernetes.Quantity) -> bool
asInteger quantity_get_int .(kubernetes.Quantity) -> int
asApproximateFloat quantity_get_float .(kubernetes.Quantity) -> double
isGreaterThan quantity_is_greater_than .(kubernetes.Quantity,kubernetes.Quantity) -> bool
isLessThan quantity_is_less_than .(kubernetes.Quantity,kubernetes.Quantity) -> bool
compareTo quantity_compare_to .(kubernetes.Quantity,kubernetes.Quantity) -> int
add quantity_add .(kubernetes.Quantity,kubernetes.Quantity) -> kubernetes.Quantity
add quantity_add_int .(kubernetes.Quantity,int) -> kubernetes.Quantity
sub quantity_sub .(kubernetes.Quantity,kubernetes.Quantity) -> kubernetes.Quantity
sub quantity_sub_int .(kubernetes.Quantity,int) -> kubernetes.Quantity
semver string_to_semver (string) -> kubernetes.Semver
semver string_bool_to_semver (string,bool) -> kubernetes.Semver
isSemver is_semver_string (string) -> bool
isSemver is_semver_string_bool (string,bool) -> bool
isGreaterThan semver_is_greater_than .(kubernetes.Semver,kubernetes.Semver) -> bool
isLessThan semver_is_less_than .(kubernetes.Semver,kubernetes.Semver) -> bool
compareTo semver_compare_to .(kubernetes.Semver,kubernetes.Semver) -> int
major semver_major .(kubernetes.Semver) -> int
minor semver_minor .(kubernetes.Semver) -> int
patch semver_patch .(kubernetes.Semver) -> int
ip string_to_ip (string) -> net.IP
ip cidr_ip .(net.CIDR) -> net.IP
isIP is_ip (string) -> bool
ip.isCanonical ip_is_canonical (string) -> bool
family ip_family .(net.IP) -> int
isUnspecified ip_is_unspecified .(net.IP) -> bool
isLoopback ip_is_loopback .(net.IP) -> bool
isLinkLocalMulticast ip_is_link_local_multicast .(net.IP) -> bool
isLinkLocalUnicast ip_is_link_local_unicast .(net.IP) -> bool
isGlobalUnicast ip_is_global_unicast .(net.IP) -> bool
cidr string_to_cidr (string) -> net.CIDR
isCIDR is_cidr (string) -> bool
containsIP cidr_contains_ip_string .(net.CIDR,string) -> bool
containsIP cidr_contains_ip_ip .(net.CIDR,net.IP) -> bool
containsCIDR cidr_contains_cidr_string .(net.CIDR,string) -> bool
containsCIDR cidr_contains_cidr .(net.CIDR,net.CIDR) -> bool
prefixLength cidr_prefix_length .(net.CIDR) -> int
masked cidr_masked .(net.CIDR) -> net.CIDR
url string_to_url (string) -> kubernetes.URL
isURL is_url_string (string) -> bool
getScheme url_get_scheme .(kubernetes.URL) -> string
getHost url_get_host .(kubernetes.URL) -> string
getHostname url_get_hostname .(kubernetes.URL) -> string
getPort url_get_port .(kubernetes.URL) -> string
getEscapedPath url_get_escaped_path .(kubernetes.URL) -> string
getQuery url_get_query .(kubernetes.URL) -> map(string,list(string))
format.named format-named (string) -> optional(kubernetes.NamedFormat)
validate format-validate .(kubernetes.NamedFormat,string) -> optional(list(string))
bool bool_to_bool (bool) -> bool
bool string_to_bool (string) -> bool
bytes bytes_to_bytes (bytes) -> bytes
bytes string_to_bytes (string) -> bytes
double double_to_double (double) -> double
double int64_to_double (int) -> double
double string_to_double (string) -> double
double uint64_to_double (uint) -> double
duration duration_to_duration (duration) -> duration
duration string_to_duration (string) -> duration
int int64_to_int64 (int) -> int
int double_to_int64 (double) -> int
int duration_to_int64 (duration) -> int
int string_to_int64 (string) -> int
int timestamp_to_int64 (timestamp) -> int
int uint64_to_int64 (uint) -> int
string string_to_string (string) -> string
string bool_to_string (bool) -> string
string bytes_to_string (bytes) -> string
string double_to_string (double) -> string
string duration_to_string (duration) -> string
string int64_to_string (int) -> string
string timestamp_to_string (timestamp) -> string
string uint64_to_string (uint) -> string
string ip_to_string (net.IP) -> string
string cidr_to_string (net.CIDR) -> string
timestamp timestamp_to_timestamp (timestamp) -> timestamp
timestamp int64_to_timestamp (int) -> timestamp
timestamp string_to_timestamp (string) -> timestamp
uint uint64_to_uint64 (uint) -> uint
uint double_to_uint64 (double) -> uint
uint int64_to_uint64 (int) -> uint
uint string_to_uint64 (string) -> uint
"""


def device_fields(attribute: Type) -> dict[str, Type]:
    """Return the fields of ``device``; *attribute* is the type of an attribute, which is known only from the value of the device."""
    return {
        "driver": STRING,
        "allowMultipleAllocations": BOOL,
        "attributes": map_of(STRING, map_of(STRING, attribute)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    }


class Overload(NamedTuple):
    """One signature of a function."""

    id: str
    member: bool
    params: tuple[Type, ...]
    result: Type


def _computed() -> list[str]:
    """Return the declarations that differ only in a type."""
    lines = [f"_{sign}_ {name}_{kind} ({each},{each}) -> {each}" for sign, name in (("/", "divide"), ("*", "multiply"))
             for kind, each in _NUMBERS.items()]  # fmt: skip
    lines += [f"_%_ modulo_{kind} ({each},{each}) -> {each}" for kind, each in _NUMBERS.items() if each != "double"]
    for sign, name in (("<", "less"), ("<=", "less_equals"), (">", "greater"), (">=", "greater_equals")):
        lines += [f"_{sign}_ {name}_{kind} ({kind},{kind}) -> bool" for kind in ("bool", "string", "bytes", "timestamp", "duration")]
        for left, first in _NUMBERS.items():
            lines += [
                f"_{sign}_ {name}_{left if left == right else f'{left}_{right}'} ({first},{second}) -> bool"
                for right, second in _NUMBERS.items()
            ]
    for each in _COMPARABLE:
        full = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}.get(each, each)
        lines.append(f"sort list_{full}_sort .(list({each})) -> list({each})")
        lines.append(f"@sortByAssociatedKeys list_{full}_sortByAssociatedKeys .(list(T),list({each})) -> list(T)")
        lines.append(f"isSorted list_{each}_is_sorted_bool .(list({each})) -> bool")
        lines += [f"{name} list_{each}_{name}_{each} .(list({each})) -> {each}" for name in ("min", "max")]
    lines += [f"sum list_{each}_sum_{each} .(list({each})) -> {each}" for each in ("int", "uint", "double", "duration")]
    lines += [f"format.{each} format.{each} () -> kubernetes.NamedFormat" for each in _FORMATS]
    for getter, part in _GETTERS.items():
        lines.append(f"{getter} timestamp_to_{part} .(timestamp) -> int")
        lines.append(f"{getter} timestamp_to_{part}_with_tz .(timestamp,string) -> int")
    lines += [f"{getter} {each} .(duration) -> int" for getter, each in _DURATION_GETTERS.items()]
    return lines


_GETTERS = {
    "getFullYear": "year", "getMonth": "month", "getDayOfYear": "day_of_year", "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based", "getDayOfWeek": "day_of_week", "getHours": "hours", "getMinutes": "minutes",
    "getSeconds": "seconds", "getMilliseconds": "milliseconds",
}  # fmt: skip
_DURATION_GETTERS = {
    "getHours": "duration_to_hours", "getMinutes": "duration_to_minutes", "getSeconds": "duration_to_seconds",
    "getMilliseconds": "duration_to_milliseconds",
}  # fmt: skip


@functools.cache
def functions() -> dict[str, tuple[Overload, ...]]:
    """Return the overloads by the name of the function."""
    table: dict[str, list[Overload]] = {}
    for line in (*_DECLARED.strip().splitlines(), *_computed()):
        head, result = line.split(" -> ")
        name, overload_id, params = head.split(" ")
        member = params.startswith(".")
        types = tuple(map(static_types.read_type, static_types.split_arguments(params[member + 1 : -1])))
        table.setdefault(name, []).append(Overload(overload_id, member, types, static_types.read_type(result)))
    return {name: tuple(overloads) for name, overloads in table.items()}
