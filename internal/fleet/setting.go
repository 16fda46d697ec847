package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SettingName names one setting of the server.
type SettingName string

// SettingKind says how the text of a setting's value is read.
type SettingKind string

const (
	SettingDuration  SettingKind = "duration"  // "30s", "8760h" or "365d"
	SettingNumber    SettingKind = "number"    // a whole number
	SettingSwitch    SettingKind = "switch"    // "true" or "false"
	SettingThreshold SettingKind = "threshold" // see ParseThreshold
	SettingWaves     SettingKind = "waves"     // see ParseWaves
	SettingText      SettingKind = "text"      // The text is one line.
	SettingSecret    SettingKind = "secret"    // A secret is one line that is never shown.
	SettingFolder    SettingKind = "folder"    // absolute path on the server's machine; "" for none
	SettingChoices   SettingKind = "choices"   // some of Choices with commas between them; "" for none
	SettingChoice    SettingKind = "choice"    // exactly one of Choices
	SettingTags      SettingKind = "tags"      // tags with commas between them
	SettingCopies    SettingKind = "copies"    // see ParseCopyPolicies
	SettingStale     SettingKind = "stale"     // see ParseStaleRules
)

// Setting describes one setting of the server: a policy that an administrator changes while the server runs. The table
// in settingtable.go lists all of them. Values are texts in the canonical form that Parse returns.
type Setting struct {
	Name    SettingName
	Group   string // heading under which people find the setting
	Kind    SettingKind
	Default string
	// Guarded is the value that holds when somebody else than Muster may have changed the stored one. It is as strict as
	// the setting can be. "": the default.
	Guarded string
	// Least and Most limit durations and numbers. A duration of 0 below Least is allowed where Zero says what it means.
	Least, Most string
	Zero        string // meaning of the duration 0 for people; "": 0 is not allowed
	// FlagLeast is the limit for the flag, which only somebody on the server's machine can set. "": Least.
	FlagLeast string
	Choices   []string
	Empty     string // meaning of the value "" for people; "": none
	Several   bool   // The value is several words, with spaces or ends of lines between them.
	Help      string // Help is one sentence for people.
	Flag      string // flag of `muster serve` that overrides the stored value, without dashes; "": no flag does
	Deletes   string // Deletes names what a smaller value deletes for good; "": nothing.
	Tests     bool   // A value can be tried before it is set.
	Restart   bool   // A change takes effect with the next start.
}

// StoredSetting is a value that an administrator set.
type StoredSetting struct {
	Value string
	By    string // By is the name of the person or token.
	At    time.Time
}

// StoredSettings are the values in the database.
type StoredSettings struct {
	ByName  map[SettingName]StoredSetting
	Doubted bool // Somebody else than Muster changed, added or removed a row, so none counts.
}

// SettingSource says where the value comes from that holds.
type SettingSource string

const (
	SettingByDefault SettingSource = "default"
	SettingByFlag    SettingSource = "flag"
	SettingStored    SettingSource = "database"
	SettingByGuard   SettingSource = "guard" // The stored value is in doubt.
)

// SettingState is a setting with the value that holds.
type SettingState struct {
	Setting
	Value  string
	Source SettingSource
	Secret bool           // The value is a secret that was left out; see Masked.
	Stored *StoredSetting // value in the database, also where a flag overrides it; nil: none
}

// InForce returns what holds for a setting: the flag, else the stored value, else the default. A stored value that is
// in doubt, or that this version cannot read, has the guarded value hold.
func (s Setting) InForce(flags map[SettingName]string, stored StoredSettings) SettingState {
	state := SettingState{Setting: s, Value: s.Default, Source: SettingByDefault}
	was, isStored := stored.ByName[s.Name]
	if isStored {
		state.Stored = &was
	}
	if flag, given := flags[s.Name]; given {
		state.Value, state.Source = flag, SettingByFlag
		return state
	}
	value, err := s.Parse(was.Value)
	switch {
	case stored.Doubted || isStored && err != nil:
		state.Source = SettingByGuard
		if s.Guarded != "" {
			state.Value = s.Guarded
		}
	case isStored:
		state.Value, state.Source = value, SettingStored
	}
	return state
}

// Warning tells people why the stored value does not hold; "" where it does.
func (s SettingState) Warning() string {
	switch {
	case s.Source == SettingByGuard:
		return fmt.Sprintf("The database was changed by something else than Muster, so the stored value does not count and "+
			"%s holds. Type `muster audit verify`.", s.Shown(s.Value))
	case s.Source == SettingByFlag && s.Stored != nil && s.Kind == SettingSecret:
		return fmt.Sprintf("The server was started with --%s, which overrides the stored secret.", s.Flag)
	case s.Source == SettingByFlag && s.Stored != nil && s.Stored.Value != s.Value:
		return fmt.Sprintf("The server was started with --%s, which overrides the stored value %s.", s.Flag,
			s.Shown(s.Stored.Value))
	}
	return ""
}

// Masked returns the state without the value of a secret, for everybody but the part that uses it.
func (s SettingState) Masked() SettingState {
	if s.Kind != SettingSecret {
		return s
	}
	s.Secret = s.Value != ""
	s.Value = ""
	if s.Stored != nil {
		stored := *s.Stored
		stored.Value, s.Stored = "", &stored
	}
	return s
}

// From tells people where the value comes from.
func (s SettingState) From() string {
	switch s.Source {
	case SettingByFlag:
		return "set by flag --" + s.Flag
	case SettingStored:
		return "set by " + s.Stored.By
	case SettingByGuard:
		return "strict, because the database is in doubt"
	case SettingByDefault:
	}
	return "default"
}

// Range tells people which values are allowed.
func (s Setting) Range() string {
	switch s.Kind {
	case SettingDuration:
		return s.Least + " to " + s.Most + s.orZero()
	case SettingNumber:
		return s.Least + " to " + s.Most
	case SettingSwitch:
		return "true or false"
	case SettingThreshold:
		return "a number of devices, a share like 10%, or none"
	case SettingWaves:
		return "numbers and shares of devices with commas between, and rest at the end"
	case SettingText, SettingSecret:
		return "one line of text, or none"
	case SettingFolder:
		return "the whole path of a folder, or none"
	case SettingChoices:
		return "any of " + strings.Join(s.Choices, ", ")
	case SettingChoice:
		return "one of " + strings.Join(s.Choices, ", ")
	case SettingTags:
		return "tags with commas between, or nothing"
	case SettingCopies:
		return "FOLDER=N or tag:TAG=N, then across TAG, within TIME and by HH:MM as needed, with ; between"
	case SettingStale:
		return "TAG=90d, and *=365d for the devices with none of the tags, with ; between"
	}
	return ""
}

// Shown returns a value as people read it.
func (s Setting) Shown(value string) string {
	switch {
	case value == "":
		return cmp.Or(s.Empty, "none")
	case s.Kind == SettingSecret:
		return "set"
	case s.Zero != "" && value == zeroDuration:
		return s.Zero
	}
	return value
}

// Settings lists all settings, in the order in which people read them.
func Settings() []Setting { return slices.Clone(settingTable) }

// SettingNamed returns the setting with a name. An unknown name is a not-found error that names similar ones.
func SettingNamed(name string) (Setting, error) {
	for _, s := range settingTable {
		if strings.EqualFold(string(s.Name), name) {
			return s, nil
		}
	}
	return Setting{}, &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no setting %q", name),
		Hint: "`muster setting list` names all settings."}
}

func settingNamed(name SettingName) Setting {
	for _, s := range settingTable {
		if s.Name == name {
			return s
		}
	}
	panic("no setting " + string(name)) // The names are constants of this package, and a test goes through all of them.
}
