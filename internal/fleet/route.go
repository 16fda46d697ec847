package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Match chooses problems. Each list that has entries must have one that fits; an empty list fits everything.
type Match struct {
	Tags       []Tag         `json:"tags,omitempty"` // the device carries one of them
	Kinds      []ProblemKind `json:"kinds,omitempty"`
	Severities []Severity    `json:"severities,omitempty"`
	Folders    []string      `json:"folders,omitempty"` // the problem is of one of them
	Devices    []DeviceID    `json:"devices,omitempty"`
}

// IsZero reports whether the match fits every problem.
func (m Match) IsZero() bool {
	return len(m.Tags)+len(m.Kinds)+len(m.Severities)+len(m.Folders)+len(m.Devices) == 0
}

// hasAllWords reports whether the match fits every problem although it has lists: all kinds or all severities.
func (m Match) hasAllWords() bool {
	fitsKind := func(kind ProblemKind) bool { return m.Fits(Condition{ProblemKey: ProblemKey{Kind: kind}}) }
	return len(m.Tags)+len(m.Folders)+len(m.Devices) == 0 &&
		!slices.ContainsFunc(ToldKinds, func(kind ProblemKind) bool { return !fitsKind(kind) })
}

// Fits reports whether the match chooses a problem.
func (m Match) Fits(c Condition) bool {
	fits := func(length int, contains bool) bool { return length == 0 || contains }
	return fits(len(m.Tags), slices.ContainsFunc(m.Tags, func(tag Tag) bool { return slices.Contains(c.Tags, tag) })) &&
		fits(len(m.Kinds), slices.Contains(m.Kinds, c.Kind)) &&
		fits(len(m.Severities), slices.Contains(m.Severities, WaitTexts[c.Kind].Severity)) &&
		fits(len(m.Folders), slices.Contains(m.Folders, c.Folder)) &&
		fits(len(m.Devices), slices.Contains(m.Devices, c.Device))
}

const maxMatchEntries = 100

// validate checks a match.
func (m Match) validate() error {
	for _, kind := range m.Kinds {
		if !slices.Contains(ToldKinds, kind) {
			return InvalidWord("kinds", string(kind), fmt.Sprintf("nobody is told of the kind %q", kind),
				wordsOf(ToldKinds))
		}
	}
	for _, severity := range m.Severities {
		if !slices.Contains(Severities, severity) {
			return InvalidWord("severities", string(severity), fmt.Sprintf("there is no severity %q", severity),
				wordsOf(Severities))
		}
	}
	for _, folder := range m.Folders {
		if folder == "" || len(folder) > maxMatchFolderBytes {
			return Invalidf("folders", "a folder is named by its ID")
		}
	}
	for _, length := range []int{len(m.Tags), len(m.Kinds), len(m.Severities), len(m.Folders), len(m.Devices)} {
		if length > maxMatchEntries {
			return Invalidf("tags", "a list has at most %d entries", maxMatchEntries)
		}
	}
	return nil
}

const maxMatchFolderBytes = 1 << 10

// Route says which problems are told to which channels. Problems of one kind that last at the same time are told in one
// message.
type Route struct {
	Name  string `json:"-"`
	Match Match  `json:"match"`
	// Channels are names of channels. DefaultChannel means the receivers of flags and settings.
	Channels []string `json:"channels"`
	// GroupBy is how tags begin that have a message for each: with "site:" there is one for each site. "": one for all.
	GroupBy string `json:"groupBy,omitempty"`
	// Repeat is after which time a message comes again while its problems last; 0: it does not.
	Repeat time.Duration `json:"repeat,omitempty"`
	// Nothing is sent from QuietFrom to QuietTo, times of day of the server as "22:00"; "": there are no quiet hours.
	QuietFrom string    `json:"quietFrom,omitempty"`
	QuietTo   string    `json:"quietTo,omitempty"`
	By        string    `json:"-"` // person or token that set it last
	At        time.Time `json:"-"`
}

// The limits of Route.Repeat.
const (
	LeastRepeat = 5 * time.Minute
	MostRepeat  = 30 * 24 * time.Hour
)

// RouteSetting returns the name of the setting that stores a route.
func RouteSetting(name string) SettingName { return routePrefix + SettingName(name) }

const clock = "15:04"

// Validate checks a route. exists reports whether there is a channel of a name.
func (r Route) Validate(exists func(channel string) bool) error {
	if err := ValidateRuleName(r.Name); err != nil {
		return err
	}
	if err := r.Match.validate(); err != nil {
		return err
	}
	if len(r.Channels) == 0 || len(r.Channels) > maxChannels {
		return Invalidf("channels", "a route names 1 to %d channels", maxChannels)
	}
	for _, channel := range r.Channels {
		if channel != DefaultChannel && !exists(channel) {
			return &Error{Code: CodeInvalid, Message: fmt.Sprintf("there is no channel %q", channel),
				Hint: "`muster channel list` lists all."}
		}
	}
	if len(r.GroupBy) > MaxTagBytes {
		return Invalidf("groupBy", "the beginning of a tag has at most %d bytes", MaxTagBytes)
	}
	if r.Repeat != 0 && (r.Repeat < LeastRepeat || r.Repeat > MostRepeat) {
		return Invalidf("repeatS", "a message is repeated after %s to %s, or never (0)", LeastRepeat, MostRepeat)
	}
	if (r.QuietFrom == "") != (r.QuietTo == "") {
		return Invalidf("quietFrom", "quiet hours have a beginning and an end")
	}
	for _, at := range []string{r.QuietFrom, r.QuietTo} {
		if _, err := time.Parse(clock, at); at != "" && (err != nil || len(at) != len(clock)) {
			return Invalidf("quietFrom", "%q is no time of day like 07:00", at)
		}
	}
	if r.QuietFrom != "" && r.QuietFrom == r.QuietTo {
		return Invalidf("quietFrom", "quiet hours begin and end at different times")
	}
	return nil
}

// IsQuiet reports whether a time is in the quiet hours.
func (r Route) IsQuiet(at time.Time) bool {
	now := at.Format(clock)
	if r.QuietFrom <= r.QuietTo {
		return r.QuietFrom <= now && now < r.QuietTo
	}
	return now >= r.QuietFrom || now < r.QuietTo // over midnight
}

// GroupOf returns the tag for which a problem has a message of its own; "" where the route has one for all.
func (r Route) GroupOf(c Condition) Tag {
	if r.GroupBy == "" {
		return ""
	}
	for _, tag := range c.Tags {
		if strings.HasPrefix(string(tag), r.GroupBy) {
			return tag
		}
	}
	return ""
}

// Stored returns the value of the setting that stores the route.
func (r Route) Stored() (string, error) { return storedText(r) }

// Shown returns what the audit has of the route.
func (r Route) Shown() string { return r.Match.String() + " to " + strings.Join(r.Channels, ", ") }

// String returns the match for people.
func (m Match) String() string {
	var parts []string
	add := func(name string, words []string) {
		if len(words) > 0 {
			parts = append(parts, name+" "+strings.Join(words, ", "))
		}
	}
	add("tags", wordsOf(m.Tags))
	add("kinds", wordsOf(m.Kinds))
	add("severities", wordsOf(m.Severities))
	add("folders", m.Folders)
	add("devices", wordsOf(m.Devices))
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, "; ")
}
