package cli

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// agentService is an agent that the system runs.
type agentService struct {
	command []string
	home    string
	ca      string
	keyFile string
	system  bool
	user    string // the user of a service of the machine
}

// everyUnit confines what the process may do in the kernel. It needs no privileges of the service manager. The agent
// itself confines which files it opens (Landlock).
const everyUnit = `NoNewPrivileges=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallFilter=landlock_create_ruleset landlock_add_rule landlock_restrict_self
SystemCallErrorNumber=EPERM
LimitCORE=0
MemoryMax=256M
TasksMax=64
`

// systemUnit is left out for services of a user: their service manager lacks the privileges on some systems.
const systemUnit = `CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=tmpfs
PrivateTmp=yes
PrivateDevices=yes
PrivateIPC=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
RemoveIPC=yes
DevicePolicy=closed
`

// systemd is the unit. A service of the machine sees nothing of /home but the Syncthing home and the program.
func (s agentService) systemd() (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, text := range append(slices.Clone(s.command), s.keyFile) {
		if strings.ContainsAny(text, "\n\r") {
			return "", &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q has a line end", text),
				Hint: "Give a path without one."}
		}
	}
	line("%s", unitMark)
	line("[Unit]")
	line("Description=Muster agent of the Syncthing daemon of this machine")
	target := "default.target"
	if s.system {
		target = "multi-user.target"
		line("Wants=network-online.target")
		line("After=network-online.target")
	}
	line("\n[Service]")
	line("ExecStart=%s", quotedForSystemd(s.command))
	line("Restart=always")
	line("RestartSec=10")
	line("RuntimeDirectory=muster-agent")
	line("RuntimeDirectoryMode=0700")
	line("UMask=0077")
	if s.keyFile != "" {
		line("LoadCredential=key:%s", strings.ReplaceAll(s.keyFile, "%", "%%"))
	}
	b.WriteString(everyUnit)
	if s.system {
		line("User=%s", s.user)
		b.WriteString(systemUnit)
		for _, path := range []string{s.home, s.command[0], s.ca} {
			if path != "" && hiddenByProtectHome(path) {
				line("BindReadOnlyPaths=%s", quotedForSystemd([]string{path}))
			}
		}
	}
	line("\n[Install]")
	line("WantedBy=%s", target)
	return b.String(), nil
}

func hiddenByProtectHome(path string) bool {
	return slices.ContainsFunc([]string{"/home", "/root", "/run/user"}, func(hidden string) bool {
		rest, err := filepath.Rel(hidden, path)
		return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
	})
}

// quotedForSystemd quotes words so that systemd puts nothing in their place (systemd.service(5), "Command lines").
func quotedForSystemd(words []string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`)
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = escaped.Replace(word); quoted[i] != word || strings.ContainsAny(word, " \t';") || word == "" {
			quoted[i] = `"` + quoted[i] + `"`
		}
	}
	return strings.Join(quoted, " ")
}

// printed is the command of a service on macOS or Windows, where the agent reads the file of the enrol key itself.
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
