package cli

import (
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
	user    string // of a service of the machine
}

// everyUnit confines what a process may do in the kernel, without privileges of the service manager. Which files the
// agent opens it confines itself (Landlock).
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

// systemUnit needs privileges that the manager of a user does not have everywhere.
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
