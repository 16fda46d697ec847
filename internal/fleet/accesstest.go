package fleet

import "fmt"

// AccessProblem says why a test of a daemon's address and API key failed; "" if it succeeded.
type AccessProblem string

const (
	AccessUnknownHost      AccessProblem = "unknownHost"      // The host name is not known.
	AccessRefused          AccessProblem = "refused"          // Nothing listens at the port.
	AccessNoAnswer         AccessProblem = "noAnswer"         // No answer came within the time limit.
	AccessUnreachable      AccessProblem = "unreachable"      // The network leads nowhere.
	AccessClosed           AccessProblem = "closed"           // The connection was closed before an answer.
	AccessFailing          AccessProblem = "failing"          // The answer has a status of 500 or more.
	AccessNotTLS           AccessProblem = "notTLS"           // The port does not speak TLS.
	AccessNotSyncthing     AccessProblem = "notSyncthing"     // The answer is not that of a Syncthing API.
	AccessHostRefused      AccessProblem = "hostRefused"      // The daemon does not accept the host name.
	AccessOtherCertificate AccessProblem = "otherCertificate" // The certificate is not the expected one.
	AccessOtherDevice      AccessProblem = "otherDevice"      // The daemon has another device ID.
	AccessKeyRefused       AccessProblem = "keyRefused"       // The daemon does not accept the API key.
	AccessTooOld           AccessProblem = "tooOld"           // Muster cannot manage this version of Syncthing.
)

// AccessText describes an AccessProblem. Field is the JSON name of the field of a device that is most likely wrong.
type AccessText struct{ Field, Reason, Next string }

// AccessTexts has an entry for each AccessProblem.
var AccessTexts = map[AccessProblem]AccessText{
	AccessUnknownHost: {"apiAddress", "there is no such host name", "Check how it is spelt, or give an IP address."},
	AccessRefused: {
		"apiPort",
		"nothing listens at this address and port",
		"Check that Syncthing runs, which port its GUI " +
			"has, and that its GUI does not listen on its own machine only (Actions > Settings > GUI).",
	},
	AccessNoAnswer: {"apiAddress", "there is no answer", "Check that the machine is on, and that no firewall is in " +
		"between."},
	AccessUnreachable: {
		"apiAddress",
		"the address cannot be reached from the server",
		"Check the address, and the network " +
			"in between.",
	},
	AccessClosed: {
		"apiPort",
		"the connection is closed before an answer comes",
		"Syncthing may be starting, or something " +
			"else listens at this port: check the port.",
	},
	AccessFailing: {
		"apiAddress",
		"the daemon answers with an error",
		"Look at Syncthing's log on that machine, " +
			"then try again.",
	},
	AccessNotTLS: {"apiPort", "what answers does not speak TLS, and the API key is not sent in clear", "Check the port: " +
		"Syncthing's API always speaks TLS. For a proxy without TLS allow plain HTTP in the device's settings."},
	AccessNotSyncthing: {"apiPort", "what answers is no Syncthing daemon", "Check address and port: they are those of " +
		"Syncthing's own page."},
	AccessHostRefused: {"apiAddress", "the daemon does not accept this host name", "Give an IP address, or have its GUI " +
		"listen on an address of the network."},
	AccessOtherCertificate: {"pin", "another certificate is shown than the expected one, so no API key was sent",
		"Compare the fingerprint with that of https-cert.pem on the daemon's machine. Unless they are equal, somebody else " +
			"answers there."},
	AccessOtherDevice: {"deviceID", "another device answers there", "Check the device ID, or the address and the port."},
	AccessKeyRefused: {
		"apiKey",
		"the daemon does not accept the API key",
		"Copy the key from Syncthing: Actions > Settings " +
			"> GUI. If it is right already, another daemon answers there.",
	},
	AccessTooOld: {
		"apiAddress",
		"this version of Syncthing is too old to be managed",
		"Update Syncthing to 1.12 or later.",
	},
}

// AccessTest is the result of a test of a daemon's address and API key. Nothing of an answer's body is in it but what
// was parsed as an ID or a version.
type AccessTest struct {
	Problem AccessProblem // "": the daemon accepts the key
	Other   DeviceID      // The device that answered in place of the expected one, if its ID was seen.
	Version string        // The version of Syncthing, as a version number only; "" if it was not read.
	Shown   Certificate   // The certificate that was shown; zero without TLS.
}

// Err returns the failure as an error about the field that is most likely wrong, or nil.
func (a AccessTest) Err() error {
	if a.Problem == "" {
		return nil
	}
	text := AccessTexts[a.Problem]
	message := text.Reason
	switch {
	case a.Problem == AccessOtherDevice && a.Other != "":
		message = fmt.Sprintf("%s: %s", message, a.Other)
	case a.Problem == AccessOtherCertificate && a.Shown.Fingerprint != "":
		message = fmt.Sprintf("%s: %s", message, a.Shown.Fingerprint)
	}
	e := Invalidf(text.Field, "%s", message)
	e.Hint = text.Next
	return e
}
