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
	ApprovalThreshold string   `help:"setting:approvalThreshold" placeholder:"N|N%"`
	FourEyes          *bool    `help:"setting:fourEyes"`
	Waves             string   `help:"setting:waves" placeholder:"LIST"`
	Soak              string   `help:"setting:soak" placeholder:"DURATION"`
	KeepRevisions     string   `help:"setting:keepRevisions" placeholder:"N"`
	KeepFor           string   `help:"setting:keepFor" placeholder:"DURATION"`
	KeepEvents        string   `help:"setting:keepEvents" placeholder:"DURATION"`
	KeepAudit         string   `help:"setting:keepAudit" placeholder:"DURATION"`
	TroubleAfter      string   `help:"setting:troubleAfter" placeholder:"DURATION"`
	StalledAfter      string   `help:"setting:stalledAfter" placeholder:"DURATION"`
	DisagreeAfter     string   `help:"setting:disagreeAfter" placeholder:"DURATION"`
	QuietAfter        string   `help:"setting:quietAfter" placeholder:"DURATION"`
	NotifyAfter       string   `help:"setting:notifyAfter" placeholder:"DURATION"`
	EnrollByKey       *bool    `help:"setting:enrollByKey"`
	EnrollKeyLife     string   `help:"setting:enrollKeyLife" placeholder:"DURATION"`
	EnrollKeyUses     string   `help:"setting:enrollKeyUses" placeholder:"N"`
	EnrollKeyTags     []string `help:"setting:enrollKeyTags May be given several times." placeholder:"TAG"`
	TroubleOff        []string `help:"setting:troubleOff May be given several times." placeholder:"KIND"`
	BackupEvery       string   `help:"setting:backupEvery" placeholder:"DURATION"`
	BackupTo          string   `help:"setting:backupTo" type:"path" placeholder:"DIR"`
	BackupKeep        string   `help:"setting:backupKeep" placeholder:"N"`
	SessionIdle       string   `help:"setting:sessionIdle" placeholder:"DURATION"`
	SessionLife       string   `help:"setting:sessionLife" placeholder:"DURATION"`
}

// settingHelp begins the help of a flag whose text is in the table of settings, before the setting's name.
const settingHelp = "setting:"

// describeSettings gives the flags of settings below a node their help. They are no variables of kong, which would put
// each variable into each other one anew for every flag of every command: that took most of the time of a command.
func describeSettings(node *kong.Node) {
	for _, flag := range node.Flags {
		name, more, _ := strings.Cut(flag.Help, " ")
		if name, isSetting := strings.CutPrefix(name, settingHelp); isSetting {
			flag.Help = strings.TrimSpace(helpOfSetting(fleet.SettingName(name)) + " " + more)
		}
	}
	for _, child := range node.Children {
		describeSettings(child)
	}
}

// helpOfSetting is the help of the flag of a setting.
func helpOfSetting(name fleet.SettingName) string {
	for _, s := range fleet.Settings() {
		if s.Name == name {
			return fmt.Sprintf("%s Without it, what is set in the settings, else %s.", strings.TrimSpace(s.Help),
				s.Shown(s.Default))
		}
	}
	return ""
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
