package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEverySettingOfTheTableIsWhole(t *testing.T) {
	var names, flags []string
	for _, s := range settingTable {
		if s.Group == "" || !strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s has the group %q and the help %q", s.Name, s.Group, s.Help)
		}
		for what, text := range map[string]string{"default": s.Default, "guarded value": s.Guarded} {
			if what == "guarded value" && text == "" {
				continue
			}
			if value, err := s.Parse(text); err != nil || value != s.canonical(text) {
				t.Errorf("%s: the %s %q gives %q, %v", s.Name, what, text, value, err)
			}
		}
		if (s.Kind == SettingDuration || s.Kind == SettingNumber) && (s.Least == "" || s.Most == "") {
			t.Errorf("%s has no range", s.Name)
		}
		names = append(names, strings.ToLower(string(s.Name)))
		if s.Flag != "" {
			flags = append(flags, s.Flag)
		}
	}
	for _, all := range [][]string{names, flags} {
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("a name is there twice: %q", all)
		}
	}
}

// canonical is the text that a value of the table has after Parse.
func (s Setting) canonical(text string) string {
	if s.Kind == SettingDuration {
		return DurationText(durationOf(text))
	}
	return text
}

func TestValuesOfSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name        SettingName
		text, value string // "": refused
	}{
		{SettingSoak, "90s", "1m30s"}, {SettingSoak, " 1h ", "1h"}, {SettingSoak, "0", ""}, {SettingSoak, "soon", ""},
		{SettingSoak, "30d", ""}, {SettingKeepFor, "90d", "2160h"}, {SettingKeepFor, "1h", ""},
		{SettingKeepFor, "-1d", ""}, {SettingKeepFor, "1.5d", ""}, {SettingKeepAudit, "0", zeroDuration},
		{SettingKeepAudit, "24h", ""}, {SettingKeepRevisions, "10", "10"}, {SettingKeepRevisions, "9", ""},
		{SettingKeepRevisions, "x", ""}, {SettingFourEyes, "True", "true"}, {SettingFourEyes, "yes", ""},
		{SettingApproval, "", NoThreshold}, {SettingApproval, "none", NoThreshold}, {SettingApproval, "10%", "10%"},
		{SettingApproval, "0", ""}, {SettingWavePlan, "1, 5% ,rest", "1,5%,rest"}, {SettingWavePlan, "1,5", ""},
		{SettingTroubleOff, "conflicts, alone,alone", "alone,conflicts"}, {SettingTroubleOff, "none", ""},
		{SettingTroubleOff, "noise", ""}, {SettingOIDCName, "Example ID", "Example ID"},
		{SettingOIDCName, "Example\u202e ID", ""}, {SettingOIDCName, "Example\u2028ID", ""},
		{SettingBackupTo, "/var/backups", "/var/backups"}, {SettingBackupTo, "/var/\u202ebackups", ""},
		{SettingQuietAfter, "0", zeroDuration}, {SettingQuietAfter, "2d", "48h"}, {SettingQuietAfter, "400d", ""},
		{SettingNotifyURLs, " https://a.example/x\nhttps://b.example ", "https://a.example/x https://b.example"},
		{SettingSMTPPassword, "two  blanks", "two  blanks"}, {SettingSMTPPassword, "two\nlines", ""},
		{SettingSMTPTLS, "tls", "tls"}, {SettingSMTPTLS, "ssl", ""}, {SettingSMTPTLS, "", ""},
		{SettingEnrollKeyTags, "office, lab,office", "lab,office"}, {SettingEnrollKeyTags, "a\u0007", ""},
		{SettingEnrollKeyLife, "367d", ""}, {SettingEnrollKeyUses, "0", ""},
	} {
		value, err := settingNamed(c.name).Parse(c.text)
		isNone := c.name == SettingTroubleOff && c.text == "none"
		switch {
		case c.value == "" && !isNone && CodeOf(err) != CodeInvalid:
			t.Errorf("%s %q: got %q, %v", c.name, c.text, value, err)
		case (c.value != "" || isNone) && (err != nil || value != c.value):
			t.Errorf("%s %q: got %q, %v, want %q", c.name, c.text, value, err, c.value)
		}
	}
	// Somebody on the machine may keep less than an administrator may.
	for _, name := range []SettingName{SettingKeepAudit, SettingKeepFor, SettingKeepEvents} {
		if _, err := settingNamed(name).ParseFlag("24h"); err != nil {
			t.Error(err)
		}
	}
	if _, err := settingNamed(SettingKeepAudit).ParseFlag("1h"); !strings.Contains(Reason(err), "--keep-audit") {
		t.Errorf("got %v", err)
	}
}

func TestAFlagComesBeforeTheDatabaseAndThatBeforeTheDefault(t *testing.T) {
	soak := settingNamed(SettingSoak)
	stored := StoredSettings{ByName: map[SettingName]StoredSetting{SettingSoak: {Value: "1m", By: "anna"}}}
	for _, c := range []struct {
		what   string
		flags  map[SettingName]string
		stored StoredSettings
		value  time.Duration
		source SettingSource
		warns  string
	}{
		{"nothing", nil, StoredSettings{}, 30 * time.Second, SettingByDefault, ""},
		{"stored", nil, stored, time.Minute, SettingStored, ""},
		{"flag", map[SettingName]string{SettingSoak: "2m"}, stored, 2 * time.Minute, SettingByFlag, "--soak"},
		{"unreadable", nil, StoredSettings{ByName: map[SettingName]StoredSetting{SettingSoak: {Value: "x"}}},
			30 * time.Second, SettingByGuard, "audit verify"},
	} {
		s := soak.InForce(c.flags, c.stored)
		warning := s.Warning()
		if s.Duration() != c.value || s.Source != c.source || (c.warns == "") != (warning == "") ||
			!strings.Contains(warning, c.warns) {
			t.Errorf("%s: got %v from %s, %q", c.what, s.Duration(), s.Source, warning)
		}
	}
}

// A person who can write to the database must not lower a guard by it.
func TestASettingInDoubtHoldsItsGuardedValue(t *testing.T) {
	for _, doubted := range []StoredSettings{
		{Doubted: true},
		{Doubted: true, ByName: map[SettingName]StoredSetting{
			SettingApproval: {Value: "5000"}, SettingFourEyes: {Value: "false"}, SettingKeepRevisions: {Value: "10"},
			SettingKeepAudit: {Value: "2160h"},
		}},
	} {
		of := func(name SettingName) SettingState { return settingNamed(name).InForce(nil, doubted) }
		if !of(SettingApproval).Threshold().Exceeded(2, 1000) || !of(SettingFourEyes).On() ||
			of(SettingKeepRevisions).Number() < 1000 || of(SettingKeepAudit).Duration() != 0 {
			t.Errorf("%+v lowers a guard", doubted)
		}
	}
}

// One administrator could switch four eyes off, approve the own change, and switch them on again.
func TestOneAdministratorDoesNotLoosenFourEyes(t *testing.T) {
	states := func(fourEyes, threshold string) map[SettingName]SettingState {
		return map[SettingName]SettingState{
			SettingFourEyes: {Setting: settingNamed(SettingFourEyes), Value: fourEyes},
			SettingApproval: {Setting: settingNamed(SettingApproval), Value: threshold},

			SettingEnrollByKey:   {Setting: settingNamed(SettingEnrollByKey), Value: "false"},
			SettingEnrollKeyLife: {Setting: settingNamed(SettingEnrollKeyLife), Value: "24h"},
			SettingEnrollKeyUses: {Setting: settingNamed(SettingEnrollKeyUses), Value: "5"},
			SettingEnrollKeyTags: {Setting: settingNamed(SettingEnrollKeyTags), Value: "office,site:berlin"},
		}
	}
	for _, c := range []struct {
		fourEyes, threshold string
		name                SettingName
		value               string
		refused             bool
	}{
		{"false", "10", SettingApproval, "none", false}, {"false", "10", SettingFourEyes, "true", false},
		{"true", "10", SettingFourEyes, "false", true}, {"true", "10", SettingApproval, "none", true},
		{"true", "10", SettingApproval, "11", true}, {"true", "10", SettingApproval, "9", false},
		{"true", "10", SettingApproval, "1%", true}, {"true", "none", SettingApproval, "10%", false},
		{"true", "10%", SettingApproval, "5%", false}, {"true", "10", SettingSoak, "1s", false},
		{"true", "10", SettingEnrollByKey, "true", true}, {"false", "10", SettingEnrollByKey, "true", false},
		{"true", "10", SettingEnrollKeyLife, "25h", true}, {"true", "10", SettingEnrollKeyLife, "23h", false},
		{"true", "10", SettingEnrollKeyUses, "6", true}, {"true", "10", SettingEnrollKeyUses, "4", false},
		{"true", "10", SettingEnrollKeyTags, "", true}, {"true", "10", SettingEnrollKeyTags, "office,lab", true},
		{"true", "10", SettingEnrollKeyTags, "office", false},
		{"true", "10", SettingWavePlan, "rest", false}, // Who may apply gives each rollout other waves anyway.
	} {
		err := CheckFourEyes(states(c.fourEyes, c.threshold), c.name, c.value)
		if (CodeOf(err) == CodeForbidden) != c.refused {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func TestASmallerValueDeletes(t *testing.T) {
	for _, c := range []struct {
		name     SettingName
		from, to string
		deletes  bool
	}{
		{SettingKeepRevisions, "100", "99", true}, {SettingKeepRevisions, "9", "100", false},
		{SettingKeepAudit, zeroDuration, "2160h", true}, {SettingKeepAudit, "2160h", zeroDuration, false},
		{SettingKeepFor, "200h", "168h", true}, {SettingSoak, "2m", "1m", false},
	} {
		if settingNamed(c.name).Shrinks(c.from, c.to) != c.deletes {
			t.Errorf("%+v", c)
		}
	}
}
