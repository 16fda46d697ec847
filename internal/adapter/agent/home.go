package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Names of the files in the home directory of a Syncthing daemon.
const (
	configFile  = "config.xml"
	certFile    = "cert.pem"
	keyFile     = "key.pem"
	apiCertFile = "https-cert.pem"
)

// Home is what the files in a Syncthing daemon's home directory say.
type Home struct {
	Dir     string
	ID      fleet.DeviceID
	Name    string // the device's name in its own configuration; may be empty
	APIKey  fleet.Secret
	Host    string // host of the API in the configuration; "" and wildcards mean all addresses
	Port    int    // 0 for a Unix socket
	Socket  string // path of the Unix socket of the API; "": the API listens on Host and Port
	Enabled bool
	Pin     string // fingerprint of the API's certificate; "" before the daemon has made one
	Folders []HomeFolder
}

// HomeFolder is where a daemon stores a folder. Path is "" when the folder is not on a file system of this machine. A
// relative path starts at the working directory of the daemon.
type HomeFolder struct {
	ID       string
	Path     string
	Marker   string // relative to Path
	Versions string // path of older versions; "": they have no path of their own
}

// ReadHome reads config.xml, cert.pem and https-cert.pem. The device ID is the SHA-256 of the device certificate, so
// it is right even when config.xml lists several devices.
func ReadHome(dir string) (*Home, error) {
	own, err := certificateSum(filepath.Join(dir, certFile))
	if err != nil {
		return nil, notAHome(dir, err)
	}
	home := &Home{Dir: dir, ID: fleet.DeviceIDOf(own)}
	switch sum, err := certificateSum(filepath.Join(dir, apiCertFile)); {
	case err == nil:
		home.Pin = fmt.Sprintf("sha256:%x", sum)
	case !errors.Is(err, fs.ErrNotExist): // The file exists but cannot be read, which differs from a missing file.
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
		Folders []folderElement `xml:"folder"`
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
	for _, f := range config.Folders[:min(len(config.Folders), maxHomeFolders)] {
		h.Folders = append(h.Folders, f.folder())
	}
	return h.parseAddress(config.GUI.Address)
}

const maxHomeFolders = 1000

// folderElement is the XML element of a folder in config.xml.
type folderElement struct {
	ID         string `xml:"id,attr"`
	Path       string `xml:"path,attr"`
	FileSystem string `xml:"filesystemType"`
	Marker     string `xml:"markerName"`
	Versioning struct {
		Path       string `xml:"fsPath"`
		FileSystem string `xml:"fsType"`
	} `xml:"versioning"`
}

func (e folderElement) folder() HomeFolder {
	f := HomeFolder{ID: e.ID, Marker: cmp.Or(e.Marker, ".stfolder")}
	if cmp.Or(e.FileSystem, "basic") == "basic" {
		f.Path = withoutTilde(e.Path)
	}
	if e.Versioning.Path != "" && cmp.Or(e.Versioning.FileSystem, "basic") == "basic" {
		if f.Versions = withoutTilde(e.Versioning.Path); !filepath.IsAbs(f.Versions) {
			f.Versions = filepath.Join(f.Path, f.Versions)
		}
	}
	return f
}

// withoutTilde replaces a ~ at the start of a path by the user's home directory, as Syncthing does.
func withoutTilde(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return path
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, rest)
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

// DefaultHome returns the home directory of this user's daemon: the first of the usual places that has a
// configuration, or the first of all when none has.
func DefaultHome() string {
	user, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	usual := usualHomes(runtime.GOOS, user, os.Getenv)
	if there := withConfiguration(usual); len(there) > 0 {
		return there[0]
	}
	return usual[0]
}

// OtherHomes returns the other usual places that also have a configuration, when home is the default home. For any
// other home it returns nothing.
func OtherHomes(home string) []string {
	user, err := os.UserHomeDir()
	if err != nil || home != DefaultHome() {
		return nil
	}
	return slices.DeleteFunc(withConfiguration(usualHomes(runtime.GOOS, user, os.Getenv)),
		func(other string) bool { return other == home })
}

// searched returns the usual places when home is the first of them and none has a configuration. An error then lists
// them.
func searched(home string) []string {
	user, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	usual := usualHomes(runtime.GOOS, user, os.Getenv)
	if home != usual[0] || len(withConfiguration(usual)) > 0 {
		return nil
	}
	return usual
}

func withConfiguration(homes []string) []string {
	var there []string
	for _, home := range homes {
		if _, err := os.Stat(filepath.Join(home, configFile)); err == nil && !slices.Contains(there, home) {
			there = append(there, home)
		}
	}
	return there
}

// usualHomes returns the places of a daemon's home directory in the order in which Syncthing itself looks (Syncthing's
// documentation, "config"). Since 1.27 Syncthing makes one below XDG_STATE_HOME, unless an older one exists below
// XDG_CONFIG_HOME.
func usualHomes(system, user string, variable func(string) string) []string {
	or := func(name, otherwise string) string {
		if value := variable(name); value != "" {
			return value
		}
		return filepath.Join(user, otherwise)
	}
	var homes []string
	for _, name := range []string{"STHOMEDIR", "STCONFDIR"} {
		if value := variable(name); value != "" {
			homes = append(homes, value)
		}
	}
	switch system {
	case "windows":
		return append(homes, filepath.Join(or("LOCALAPPDATA", "AppData/Local"), "Syncthing"))
	case "darwin":
		homes = append(homes, filepath.Join(user, "Library/Application Support/Syncthing"))
	}
	return append(homes,
		filepath.Join(or("XDG_CONFIG_HOME", ".config"), "syncthing"),
		filepath.Join(or("XDG_STATE_HOME", ".local/state"), "syncthing"))
}
