package agent

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
	"strings"

	"muster/internal/fleet"
)

// Names of the files in the home of a Syncthing daemon.
const (
	configFile  = "config.xml"
	certFile    = "cert.pem"
	keyFile     = "key.pem"
	apiCertFile = "https-cert.pem"
)

// Home is what the home folder of a Syncthing daemon holds about it.
type Home struct {
	Dir     string
	ID      fleet.DeviceID
	Name    string // the daemon's name for itself, may be empty
	APIKey  fleet.Secret
	Host    string // the API's host as configured: "" and wildcards mean every address
	Port    int    // 0 for a unix socket
	Socket  string // the API listens on this unix socket; "": on Host and Port
	Enabled bool
	Pin     string // of the certificate of its API; "" when it has none yet
}

// ReadHome reads config.xml, cert.pem and https-cert.pem: the device ID is the SHA-256 of the device certificate, so
// it is right even where config.xml lists several devices.
func ReadHome(dir string) (*Home, error) {
	own, err := certificateSum(filepath.Join(dir, certFile))
	if err != nil {
		return nil, notAHome(dir, err)
	}
	home := &Home{Dir: dir, ID: fleet.DeviceIDOf(own)}
	switch sum, err := certificateSum(filepath.Join(dir, apiCertFile)); {
	case err == nil:
		home.Pin = fmt.Sprintf("sha256:%x", sum)
	case !errors.Is(err, fs.ErrNotExist): // there, and not to be read: not as good as none
		return nil, notAHome(dir, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return nil, notAHome(dir, err)
	}
	return home, home.parse(text)
}

func (h *Home) parse(text []byte) error {
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
		return &fleet.Error{Code: fleet.CodeInvalid, Err: err,
			Message: filepath.Join(h.Dir, configFile) + " is not the XML that Syncthing writes",
			Hint:    "Check that Syncthing starts with it. Syncthing keeps older ones beside it: config.xml.v*."}
	}
	h.APIKey, h.Enabled = fleet.NewSecret(config.GUI.APIKey), config.GUI.Enabled != "false"
	for _, d := range config.Devices {
		if own, err := fleet.ParseDeviceID(d.ID); err == nil && own == h.ID {
			h.Name = d.Name
		}
	}
	return h.parseAddress(config.GUI.Address)
}

func (h *Home) parseAddress(address string) error {
	if path := strings.TrimPrefix(address, "unix://"); strings.HasPrefix(path, "/") {
		h.Socket = path
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fleet.Invalidf("gui.address", "the daemon's GUI address %q is no host and port", address)
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 1 || number > 65535 {
		return fleet.Invalidf("gui.address", "the daemon's GUI port %q is no number of a port", port)
	}
	h.Host, h.Port = host, number
	return nil
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

func notAHome(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &fleet.Error{
			Code: fleet.CodeInvalid, Message: fmt.Sprintf("%s is not readable by this user", dir),
			Hint: "Run this as the user that runs Syncthing.", Err: err,
		}
	}
	if places := searched(dir); errors.Is(err, fs.ErrNotExist) && len(places) > 0 {
		return &fleet.Error{
			Code: fleet.CodeInvalid, Message: "this user has no Syncthing home in " + strings.Join(places, ", nor in "),
			Hint: noHomeHint, Err: err,
		}
	}
	return &fleet.Error{
		Code: fleet.CodeInvalid, Message: fmt.Sprintf("%s is not the home of a Syncthing daemon", dir),
		Hint: noHomeHint, Err: err,
	}
}

const noHomeHint = "If Syncthing never ran here, start it once, as this user. If its home is elsewhere, give the " +
	"folder with config.xml and cert.pem: --home DIR (`syncthing paths` names it, before 2.0 `syncthing --paths`)."
