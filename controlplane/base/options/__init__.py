"""Options: typed fields in groups, filled from flags, the environment, a file and defaults, in that precedence."""

from controlplane.base.options.durations import Duration, format_duration, parse_duration
from controlplane.base.options.help import help_text
from controlplane.base.options.loader import Loaded, OptionsError, load
from controlplane.base.options.model import OptionGroup, Problem, group, option
from controlplane.base.options.specs import Option, options_of

__all__ = [
    "Duration",
    "Loaded",
    "Option",
    "OptionGroup",
    "OptionsError",
    "Problem",
    "format_duration",
    "group",
    "help_text",
    "load",
    "option",
    "options_of",
    "parse_duration",
]
