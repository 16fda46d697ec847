package cli

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// printed is the command of a service that is not systemd's: the agent reads the file of the enrol key itself.
func (s agentService) printed() []string {
	if s.keyFile == "" {
		return s.command
	}
	return append(slices.Clone(s.command), "--key-file", s.keyFile)
}

const launchdText = `Put this into ~/Library/LaunchAgents/muster-agent.plist, and type
    launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/muster-agent.plist
It has NOT been tried on macOS.

%s`

func launchdPlist(command []string) string {
	var arguments strings.Builder
	for _, word := range command {
		arguments.WriteString("    <string>")
		_ = xml.EscapeText(&arguments, []byte(word)) // a Builder takes everything
		arguments.WriteString("</string>\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>muster-agent</string>
  <key>ProgramArguments</key>
  <array>
` + arguments.String() + `  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
`
}

const windowsText = `Type this in PowerShell, as the user that runs Syncthing; it starts the agent now and at each log-on.
It has NOT been tried on Windows.

%s`

// windowsTask registers a task that goes on for ever, on batteries too. schtasks takes 261 characters at most, and ends
// its tasks after three days.
func windowsTask(command []string) string {
	arguments := make([]string, len(command)-1)
	for i, word := range command[1:] {
		arguments[i] = quotedForWindows(word)
	}
	return fmt.Sprintf(`$action = New-ScheduledTaskAction -Execute %s -Argument %s
$trigger = New-ScheduledTaskTrigger -AtLogOn -User "$env:USERDOMAIN\$env:USERNAME"
$settings = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries `+"`"+`
  -ExecutionTimeLimit ([TimeSpan]::Zero) -RestartCount 999 -RestartInterval (New-TimeSpan -Minutes 1)
Register-ScheduledTask -TaskName muster-agent -Action $action -Trigger $trigger -Settings $settings
Start-ScheduledTask -TaskName muster-agent
`, quotedForPowerShell(quotedForWindows(command[0])), quotedForPowerShell(strings.Join(arguments, " ")))
}

// quotedForPowerShell is a string in which PowerShell puts nothing in place of anything.
func quotedForPowerShell(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// quotedForWindows quotes a word as programs of Windows split their command line: a backslash counts as itself, unless
// a quote comes after it.
func quotedForWindows(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\"") {
		return word
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, r := range word {
		switch r {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteRune(r)
	}
	return b.String() + strings.Repeat(`\`, slashes) + `"`
}
