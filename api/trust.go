package api

// PinHeader is the header of a PUT of a device that pins the certificate of its API: "sha256:<hex>".
const PinHeader = "Muster-Pin"

// Certificate is a certificate of a daemon's API.
type Certificate struct {
	Fingerprint string `json:"fingerprint" doc:"sha256:<hex> of the certificate; blank when there is none"`
	NotBefore   *Time  `json:"notBefore" format:"date-time" nullable:"true" doc:"null where it was not seen yet"`
	NotAfter    *Time  `json:"notAfter" format:"date-time" nullable:"true" doc:"null where it was not seen yet"`
}

// PresentedCertificate is the certificate that was shown last.
type PresentedCertificate struct {
	Certificate
	Address string `json:"address" doc:"host:port where it was shown"`
	FoundBy string `json:"foundBy" doc:"Where that address came from: record, global, local, fleet. What is said on the local network or by other daemons anybody can say"`
	At      *Time  `json:"at" format:"date-time" nullable:"true" doc:"null when none was shown since the server started"`
}

// DeviceTrust is the pinned certificate of a device, and the one that was shown last.
type DeviceTrust struct {
	Pinned    Certificate          `json:"pinned" doc:"The certificate that Muster trusts"`
	Origin    string               `json:"origin" enum:",firstUse,given,forgotten" doc:"How the device came to its pin: firstUse: the first certificate that was shown was trusted; given: by an administrator, or by enroll on the daemon's machine; forgotten: there is none, because an administrator forgot it"`
	Presented PresentedCertificate `json:"presented" doc:"Another one than the pinned one is not believed: no API key is sent to it"`
	Altered   bool                 `json:"altered" doc:"Muster did not write its record; not contacted until an admin gives a pin"`
}

// TrustDevice is the body of a POST that pins the certificate that a device shows. An altered device is not contacted:
// the fingerprint is that of the daemon's own certificate then.
type TrustDevice struct {
	Fingerprint *string `json:"fingerprint" doc:"sha256:<hex> that you checked; 409 when another was presented since"`
}
