package daemon

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"muster/internal/fleet"
)

// generate makes keys and a configuration without starting anything.
func (d *Daemon) generate() {
	d.t.Helper()
	args := []string{"generate", "--home", d.Home}
	if d.options.GUIUser != "" {
		args = append(args, "--gui-user", d.options.GUIUser, "--gui-password", d.options.GUIPassword)
	}
	if err := d.command(args...).Run(); err != nil {
		d.t.Fatalf("syncthing generate: %v\n%s", err, d.logTail())
	}
	d.ID = fleet.DeviceIDOf(sha256.Sum256(d.certificate("cert.pem").Raw))
}

// configure edits config.xml so that nothing leaves the machine, and checks by a second reading that the edit took.
func (d *Daemon) configure() {
	d.t.Helper()
	path := filepath.Join(d.Home, "config.xml")
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	listen, discovery, announce := d.SyncAddress(), "default", "false"
	if to := d.options.AnnounceTo; to != "" {
		if u, err := url.Parse(to); err != nil || (u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost") {
			d.t.Fatalf("AnnounceTo %q is not on loopback", to)
		}
		// A discovery server drops loopback IPs from announcements, but not names.
		listen, discovery, announce = fmt.Sprintf("tcp://localhost:%d", d.SyncPort), to, "true"
	}
	edited := string(text)
	for name, value := range map[string]string{
		"listenAddress": listen, "globalAnnounceServer": discovery, "globalAnnounceEnabled": announce,
		"localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false", "crashReportingEnabled": "false",
		"urAccepted": "-1", "startBrowser": "false", "autoUpgradeIntervalH": "0", "setLowPriority": "false",
	} {
		edited = setElement(edited, "options", name, value)
	}
	edited = setElement(edited, "gui", "address", d.HostPort())
	edited = regexp.MustCompile(`(<gui\b[^>]*\btls=)"[^"]*"`).ReplaceAllString(edited, fmt.Sprintf(`${1}"%t"`, d.TLS))
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.checkConfigured(path, listen, discovery)
}

func (d *Daemon) checkConfigured(path, listen, discovery string) {
	d.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	var c struct {
		GUI struct {
			TLS     bool   `xml:"tls,attr"`
			Address string `xml:"address"`
			APIKey  string `xml:"apikey"`
		} `xml:"gui"`
		Options struct {
			ListenAddresses []string `xml:"listenAddress"`
			Discovery       []string `xml:"globalAnnounceServer"`
			Global          bool     `xml:"globalAnnounceEnabled"`
			Local           bool     `xml:"localAnnounceEnabled"`
			Relays          bool     `xml:"relaysEnabled"`
			NAT             bool     `xml:"natEnabled"`
			Crash           bool     `xml:"crashReportingEnabled"`
			Usage           int      `xml:"urAccepted"`
			Browser         bool     `xml:"startBrowser"`
			Upgrade         int      `xml:"autoUpgradeIntervalH"`
		} `xml:"options"`
	}
	if err := xml.Unmarshal(text, &c); err != nil {
		d.t.Fatalf("config.xml after the edit: %v", err)
	}
	o := c.Options
	leaves := o.Local || o.Relays || o.NAT || o.Crash || o.Usage >= 0 || o.Browser || o.Upgrade != 0 ||
		o.Global != (d.options.AnnounceTo != "") || len(o.Discovery) != 1 || o.Discovery[0] != discovery ||
		len(o.ListenAddresses) != 1 || o.ListenAddresses[0] != listen
	if leaves || c.GUI.Address != d.HostPort() || c.GUI.TLS != d.TLS || c.GUI.APIKey == "" {
		d.t.Fatalf("the edit of config.xml did not take: gui at %s, TLS %t; options %+v", c.GUI.Address, c.GUI.TLS, o)
	}
	d.APIKey = c.GUI.APIKey
}

// setElement leaves one <name> inside <section>, with this text: in place of the first that is there, else at the end.
// There may be several: `syncthing generate` writes three listenAddress when port 22000 is taken. Syncthing writes one
// element per line, and neither <options> nor <gui> holds itself.
func setElement(text, section, name, value string) string {
	start := strings.Index(text, "<"+section)
	end := strings.Index(text, "</"+section+">")
	if start < 0 || end < start {
		return text
	}
	inside := text[start:end]
	element := "<" + name + ">" + escape(value) + "</" + name + ">"
	found := regexp.MustCompile(`<` + name + `>[^<]*</` + name + `>`)
	first := found.FindStringIndex(inside)
	if first == nil {
		return text[:end] + element + text[end:]
	}
	rest := found.ReplaceAllLiteralString(inside[first[1]:], "")
	return text[:start] + inside[:first[0]] + element + rest + text[end:]
}

func escape(value string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(value))
	return b.String()
}

// MoveAPI has a daemon that is stopped listen on another port, with another key, from its next start on.
func (d *Daemon) MoveAPI(key string) {
	d.t.Helper()
	if d.process != nil {
		d.t.Fatal("the daemon runs")
	}
	d.Port = FreePort(d.t)
	path := filepath.Join(d.Home, "config.xml")
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	edited := setElement(string(text), "gui", "address", d.HostPort())
	if err := os.WriteFile(path, []byte(setElement(edited, "gui", "apikey", key)), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.APIKey = key
}
