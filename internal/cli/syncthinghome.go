package cli

import (
	"crypto/sha256"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"muster/internal/fleet"
)

// localDaemon is what the home folder of a Syncthing daemon says about it.
type localDaemon struct {
	ID      fleet.DeviceID
	Name    string // the daemon's name for itself, may be empty
	APIKey  fleet.Secret
	Host    string // the GUI's host as configured: "" and wildcards mean every address
	Port    int
	Enabled bool
	Pin     string // of the certificate of its API; "" when it has none yet
}

// readSyncthingHome reads config.xml, cert.pem and https-cert.pem: the device ID is the SHA-256 of the device
// certificate, so it is right even where config.xml lists several devices.
func readSyncthingHome(home string) (*localDaemon, error) {
	own, err := certificateSum(filepath.Join(home, "cert.pem"))
	if err != nil {
		return nil, notAHome(home, err)
	}
	id := fleet.DeviceIDOf(own)
	pin := ""
	switch gui, err := certificateSum(filepath.Join(home, "https-cert.pem")); {
	case err == nil:
		pin = fmt.Sprintf("sha256:%x", gui)
	case !errors.Is(err, fs.ErrNotExist): // there, and not to be read: not as good as none
		return nil, notAHome(home, err)
	}
	text, err := os.ReadFile(filepath.Join(home, "config.xml"))
	if err != nil {
		return nil, notAHome(home, err)
	}
	var config struct {
		Devices []struct {
			ID   string `xml:"id,attr"`
			Name string `xml:"name,attr"`
		} `xml:"device"`
		GUI struct {
			Enabled string `xml:"enabled,attr"`
			Address string `xml:"address"`
			APIKey  string `xml:"apikey"`
		} `xml:"gui"`
	}
	if err := xml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("read config.xml: %w", err)
	}
	host, port, err := net.SplitHostPort(config.GUI.Address)
	if err != nil {
		return nil, fleet.Invalidf("gui.address",
			"the daemon's GUI address %q is no host and port; give --address and --port", config.GUI.Address)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fleet.Invalidf("gui.address", "the daemon's GUI port %q is no number; give --port", port)
	}
	daemon := &localDaemon{
		ID: id, APIKey: fleet.NewSecret(config.GUI.APIKey), Host: host, Port: number, Enabled: config.GUI.Enabled != "false",
		Pin: pin,
	}
	for _, d := range config.Devices {
		if own, err := fleet.ParseDeviceID(d.ID); err == nil && own == id {
			daemon.Name = d.Name
		}
	}
	return daemon, nil
}

func certificateSum(path string) (sum [sha256.Size]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return sum, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return sum, fmt.Errorf("%s holds no certificate", filepath.Base(path))
	}
	return sha256.Sum256(block.Bytes), nil
}

func notAHome(home string, err error) error {
	return &fleet.Error{
		Code: fleet.CodeInvalid, Message: fmt.Sprintf("%s is not the home of a Syncthing daemon", home),
		Hint: "Give the folder with config.xml and cert.pem: --home DIR (`syncthing paths` names it, before 2.0 " +
			"`syncthing --paths`).", Err: err,
	}
}

// defaultSyncthingHome is where a daemon keeps its home unless told otherwise (Syncthing's documentation, "config"):
// since 1.27 below XDG_STATE_HOME, before below XDG_CONFIG_HOME.
func defaultSyncthingHome() string {
	user, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	candidates := []string{
		filepath.Join(envOr("XDG_STATE_HOME", filepath.Join(user, ".local/state")), "syncthing"),
		filepath.Join(envOr("XDG_CONFIG_HOME", filepath.Join(user, ".config")), "syncthing"),
		filepath.Join(user, "Library/Application Support/Syncthing"),
	}
	for _, home := range candidates {
		if _, err := os.Stat(filepath.Join(home, "config.xml")); err == nil {
			return home
		}
	}
	return candidates[0]
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
