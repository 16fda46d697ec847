package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"muster/internal/fleet"
)

// settingFlags are the flags of settings. A flag that is given overrides what administrators set while the server
// runs. The texts come from the table of settings.
type settingFlags struct {
	ApprovalThreshold string   `help:"${approvalThreshold}" placeholder:"N|N%"`
	FourEyes          *bool    `help:"${fourEyes}"`
	Waves             string   `help:"${waves}" placeholder:"LIST"`
	Soak              string   `help:"${soak}" placeholder:"DURATION"`
	KeepRevisions     string   `help:"${keepRevisions}" placeholder:"N"`
	KeepFor           string   `help:"${keepFor}" placeholder:"DURATION"`
	KeepEvents        string   `help:"${keepEvents}" placeholder:"DURATION"`
	KeepAudit         string   `help:"${keepAudit}" placeholder:"DURATION"`
	TroubleAfter      string   `help:"${troubleAfter}" placeholder:"DURATION"`
	StalledAfter      string   `help:"${stalledAfter}" placeholder:"DURATION"`
	DisagreeAfter     string   `help:"${disagreeAfter}" placeholder:"DURATION"`
	QuietAfter        string   `help:"${quietAfter}" placeholder:"DURATION"`
	NotifyAfter       string   `help:"${notifyAfter}" placeholder:"DURATION"`
	EnrollByKey       *bool    `help:"${enrollByKey}"`
	EnrollKeyLife     string   `help:"${enrollKeyLife}" placeholder:"DURATION"`
	EnrollKeyUses     string   `help:"${enrollKeyUses}" placeholder:"N"`
	EnrollKeyTags     []string `help:"${enrollKeyTags} May be given several times." placeholder:"TAG"`
	TroubleOff        []string `help:"${troubleOff} May be given several times." placeholder:"KIND"`
	BackupEvery       string   `help:"${backupEvery}" placeholder:"DURATION"`
	BackupTo          string   `help:"${backupTo}" type:"path" placeholder:"DIR"`
	BackupKeep        string   `help:"${backupKeep}" placeholder:"N"`
	SessionIdle       string   `help:"${sessionIdle}" placeholder:"DURATION"`
	SessionLife       string   `help:"${sessionLife}" placeholder:"DURATION"`
}

// settingHelp has the help of each flag of a setting, by the setting's name.
func settingHelp() kong.Vars {
	vars := kong.Vars{}
	for _, s := range fleet.Settings() {
		if s.Flag == "" {
			continue
		}
		value := s.Shown(s.Default)
		vars[string(s.Name)] = fmt.Sprintf("%s Without it, what is set in the settings, else %s.",
			strings.TrimSpace(s.Help), value)
	}
	return vars
}

// given are the values of the flags that were given.
func (f *settingFlags) given() map[fleet.SettingName]string {
	given := map[fleet.SettingName]string{
		fleet.SettingApproval: f.ApprovalThreshold, fleet.SettingWavePlan: f.Waves, fleet.SettingSoak: f.Soak,
		fleet.SettingKeepRevisions: f.KeepRevisions, fleet.SettingKeepFor: f.KeepFor,
		fleet.SettingKeepEvents: f.KeepEvents, fleet.SettingKeepAudit: f.KeepAudit,
		fleet.SettingTroubleAfter: f.TroubleAfter, fleet.SettingStalledAfter: f.StalledAfter,
		fleet.SettingDisagreeAfter: f.DisagreeAfter, fleet.SettingTroubleOff: strings.Join(f.TroubleOff, ","),
		fleet.SettingQuietAfter: f.QuietAfter, fleet.SettingNotifyAfter: f.NotifyAfter,
		fleet.SettingEnrollKeyLife: f.EnrollKeyLife, fleet.SettingEnrollKeyUses: f.EnrollKeyUses,
		fleet.SettingEnrollKeyTags: strings.Join(f.EnrollKeyTags, ","),
		fleet.SettingBackupEvery:   f.BackupEvery, fleet.SettingBackupTo: f.BackupTo, fleet.SettingBackupKeep: f.BackupKeep,
		fleet.SettingSessionIdle: f.SessionIdle, fleet.SettingSessionLife: f.SessionLife,
	}
	if f.FourEyes != nil {
		given[fleet.SettingFourEyes] = strconv.FormatBool(*f.FourEyes)
	}
	if f.EnrollByKey != nil {
		given[fleet.SettingEnrollByKey] = strconv.FormatBool(*f.EnrollByKey)
	}
	return given
}
