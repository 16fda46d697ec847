package api

// TestDevice is the body of a test of a device's address and API key. Nothing of it is stored.
type TestDevice struct {
	APIAddress *string `json:"apiAddress" doc:"Host name or IP"`
	APIPort    *int64  `json:"apiPort,omitempty" minimum:"1" maximum:"65535" default:"8384" doc:"0: it is looked for"`
	APIKey     *string `json:"apiKey,omitempty" maxLength:"1024" doc:"Blank, missing or <API_KEY>: the stored one of a registered device"`
	Pin        *string `json:"pin,omitempty" doc:"sha256:<hex> of the certificate that is expected; missing: the pinned one of a registered device"`
}

// DeviceTest is what a test of a device's address and API key found.
type DeviceTest struct {
	Problem     string      `json:"problem" enum:",unknownHost,refused,noAnswer,unreachable,closed,failing,notTLS,notSyncthing,hostRefused,otherCertificate,otherDevice,keyRefused,tooOld" doc:"Blank: the daemon is the device, and accepts the key"`
	Field       string      `json:"field" doc:"The field that is most likely wrong: deviceID, apiAddress, apiPort, apiKey or pin; blank without a problem"`
	Reason      string      `json:"reason" doc:"For a person; blank without a problem"`
	Next        string      `json:"next" doc:"What the person can do; blank without a problem"`
	Version     string      `json:"version" doc:"Of Syncthing; blank if it was not read"`
	Fingerprint string      `json:"fingerprint" doc:"sha256:<hex> of the certificate that was shown; blank without TLS"`
	Other       TestedOther `json:"other" doc:"The device that answers in place of the expected one"`
	Registered  bool        `json:"registered" doc:"The device is registered already"`
	Label       string      `json:"label" doc:"Of the device, if it is registered"`
}

// TestedOther is the device that answered a test in place of the expected one.
type TestedOther struct {
	DeviceID   string `json:"deviceID" doc:"Blank: no other device is known to answer"`
	Registered bool   `json:"registered" doc:"Whether Muster has that device"`
	Label      string `json:"label" doc:"If it is registered"`
}
