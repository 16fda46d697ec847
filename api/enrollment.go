package api

// Enrollment is a device whose agent asks to be accepted, or that was rejected.
type Enrollment struct {
	DeviceID   string `json:"deviceID" doc:"Proven by the device's own certificate"`
	State      string `json:"state" enum:"waiting,rejected" doc:"Whether it waits for a person"`
	Name       string `json:"name" doc:"Of its machine, as its agent tells"`
	System     string `json:"system" doc:"Operating system and architecture, as its agent tells"`
	Version    string `json:"version" doc:"Of its agent"`
	Address    string `json:"address" doc:"IP address that its agent connected from"`
	APIPort    int64  `json:"apiPort" doc:"On which its daemon answers on its own machine, as its agent tells"`
	FirstSeen  Time   `json:"firstSeen" format:"date-time" doc:"When it asked first"`
	LastSeen   Time   `json:"lastSeen" format:"date-time" doc:"When its agent was connected last"`
	RejectedBy string `json:"rejectedBy" doc:"Blank while it waits"`
	RejectedAt *Time  `json:"rejectedAt" format:"date-time" nullable:"true" doc:"null while it waits"`
}

// EnrollmentCounts are the number of devices that wait to be accepted, and its limits.
type EnrollmentCounts struct {
	Waiting    int64 `json:"waiting" doc:"Devices that wait"`
	Most       int64 `json:"most" doc:"So many may wait"`
	PerAddress int64 `json:"perAddress" doc:"So many may wait from one IPv4 address, or one IPv6 network of 64 bits"`
	TurnedAway int64 `json:"turnedAway" doc:"So often an agent found no place, since the start of the server"`
}

// AcceptEnrollment is the body of an acceptance.
type AcceptEnrollment struct {
	Label *string   `json:"label,omitempty" doc:"Missing or blank: the name that its agent tells"`
	Tags  *[]string `json:"tags,omitempty" nullable:"false" doc:"Tags that the device gets at once"`
}

// EnrollKey is a key by which devices register themselves, without its text.
type EnrollKey struct {
	ID         string   `json:"id" doc:"The beginning of the key, after muster_enroll_"`
	Tags       []string `json:"tags" nullable:"false" doc:"Of each device that it registers"`
	Uses       int64    `json:"uses" doc:"How many devices it registers"`
	Used       int64    `json:"used" doc:"How many it has registered"`
	State      string   `json:"state" enum:"usable,expired,usedUp,altered,stopped" doc:"altered: its row in the database was not written by Muster, and it is refused; stopped: the settings enrollByKey and enrollKeyTags let it register no device"`
	CreatedBy  string   `json:"createdBy" doc:"Name of the user or token that made it"`
	CreatedAt  Time     `json:"createdAt" format:"date-time" doc:"When it was made"`
	ExpiresAt  Time     `json:"expiresAt" format:"date-time" doc:"From then on it counts no more"`
	LastUsedAt *Time    `json:"lastUsedAt" format:"date-time" nullable:"true" doc:"null: never"`
}

// NewEnrollKey is the one answer that shows the key.
type NewEnrollKey struct {
	EnrollKey
	Key string `json:"key" doc:"Shown once; give it to muster agent or muster enroll with --key"`
}

// CreateEnrollKey is the body of a POST of an enrol key.
type CreateEnrollKey struct {
	Tags       *[]string `json:"tags,omitempty" nullable:"false" doc:"Of each device that it registers. Missing: none"`
	Uses       *int64    `json:"uses,omitempty" minimum:"1" doc:"How many devices it registers. Missing: 1"`
	ExpiresInS *int64    `json:"expiresInS,omitempty" minimum:"1" doc:"Seconds until it expires, at most 366 days. Missing: a day"`
}

// Challenge is what a device signs with its claim.
type Challenge struct {
	Challenge string `json:"challenge" doc:"Text that the caller signs"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time" doc:"From then on it cannot be answered"`
}

// DeviceClaim is what muster enroll tells of the daemon of its machine, signed with the device's own key.
type DeviceClaim struct {
	Challenge   *string `json:"challenge" doc:"From POST enroll/challenge"`
	Certificate *string `json:"certificate" doc:"The device's certificate, cert.pem, in PEM"`
	Signature   *string `json:"signature" doc:"Of the claim, by the key of the certificate, in base64"`
	APIKey      *string `json:"apiKey" doc:"Of the daemon"`
	APIPort     *int64  `json:"apiPort,omitempty" minimum:"1" maximum:"65535" doc:"Of the daemon's API. Missing: 8384"`
	APIAddress  *string `json:"apiAddress,omitempty" doc:"IP address by which the server reaches the daemon. Blank: discovery. Missing: the address that the request comes from; for a registered device, the stored one"`
	Label       *string `json:"label,omitempty" doc:"Of a new device"`
	Pin         *string `json:"pin,omitempty" doc:"Fingerprint of the certificate of the daemon's API: sha256:HEX"`
}
