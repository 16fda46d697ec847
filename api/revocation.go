package api

// Revocation says that a device is out for good: it is taken off every managed daemon, each time that it is there.
type Revocation struct {
	DeviceID   string `json:"deviceID" doc:"Of the device"`
	Label      string `json:"label" doc:"Of the device when it was revoked; blank: it had none"`
	Reason     string `json:"reason" doc:"Why, in the words of the person who revoked it; may be blank"`
	RevokedBy  string `json:"revokedBy" doc:"Name of the person or token"`
	RevokedAt  Time   `json:"revokedAt" format:"date-time" doc:"When it was revoked"`
	Registered bool   `json:"registered" doc:"The device is still registered here; nothing is written to it"`

	StillOn []NamedDevice `json:"stillOn" nullable:"false" doc:"Devices whose daemons had it in the configuration that was read last"`
	Unknown int           `json:"unknown" doc:"How many devices were not read since the server's start: whether they have it is not known"`
}

// RevokeDevice is the body of a POST that revokes a device.
type RevokeDevice struct {
	Reason     *string `json:"reason,omitempty" doc:"Why, in one line of at most 1 KiB, for other people"`
	Generation *int64  `json:"generation,omitempty" doc:"That the plan of the revocation was compared with; when templates, tags, vars or revocations were changed since, the answer is 412"`
}

// WhatIfRevocations are devices that might be revoked, and revocations that might end.
type WhatIfRevocations struct {
	Added   []WhatIfRevocation `json:"added,omitempty" nullable:"false" doc:"Devices that might be revoked"`
	Removed []string           `json:"removed,omitempty" nullable:"false" doc:"IDs of revoked devices"`
}

// WhatIfRevocation is a device that might be revoked.
type WhatIfRevocation struct {
	Device *string `json:"device" doc:"Its ID; the device need not be registered"`
	Reason *string `json:"reason,omitempty" doc:"Why, in one line of at most 1 KiB, for other people"`
}

// RevocationCertificate says on how many managed devices a revoked device is proven to be gone.
type RevocationCertificate struct {
	DeviceID  string `json:"deviceID" doc:"Of the device"`
	Label     string `json:"label" doc:"Of the device when it was revoked; blank: it had none"`
	Reason    string `json:"reason" doc:"What the person wrote; may be blank"`
	RevokedBy string `json:"revokedBy" doc:"Name of the user or token that revoked it"`
	RevokedAt Time   `json:"revokedAt" format:"date-time" doc:"When it was revoked"`
	At        Time   `json:"at" format:"date-time" doc:"When this was put together"`

	Devices  int   `json:"devices" doc:"Managed devices that count: all that are not revoked"`
	Gone     int   `json:"gone" doc:"Those whose daemon is proven to have neither the device nor a connection to it"`
	There    int   `json:"there" doc:"Those whose daemon had the device when it was last read"`
	Percent  int   `json:"percent" doc:"Gone of devices, rounded down: 100 only when the device is gone from all of them"`
	Complete bool  `json:"complete" doc:"The device is gone from all managed devices"`
	Since    *Time `json:"since,omitempty" format:"date-time" doc:"When the last device was proven; absent while it is not complete"`

	Unmanaged     []UnmanagedPeer `json:"unmanaged" nullable:"false" doc:"Devices that managed daemons have and Muster does not manage: what they have cannot be known. At most 200"`
	MoreUnmanaged int             `json:"moreUnmanaged" doc:"How many more there are"`
	Revoked       []NamedDevice   `json:"revoked" nullable:"false" doc:"Other revoked devices: Muster writes nothing to them, so they do not count"`
	Knew          RevokedKnew     `json:"knew" doc:"Passwords and keys that the device knew, to be changed by a person"`
	Says          []string        `json:"says" nullable:"false" doc:"For people: what the certificate rests on and what it does not say"`
}

// UnmanagedPeer is a device that managed daemons have in their configuration and that Muster does not manage.
type UnmanagedPeer struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	KnownBy  int    `json:"knownBy" doc:"Managed devices that have it in their configuration"`
}

// RevokedKnew are passwords and keys that a revoked device knew.
type RevokedKnew struct {
	ReadAt    *Time             `json:"readAt,omitempty" format:"date-time" doc:"When the configuration was read from which the passwords were taken; absent: Muster has none"`
	Passwords []RevokedPassword `json:"passwords" nullable:"false" doc:"Encryption passwords in its configuration; at most 500"`
	SameKey   []NamedDevice     `json:"sameKey" nullable:"false" doc:"Devices whose API key is that of the revoked device"`
	Secrets   []string          `json:"secrets" nullable:"false" doc:"Secrets of Muster that templates of the device name"`
}

// RevokedPassword is an encryption password that a revoked device knew.
type RevokedPassword struct {
	Folder string `json:"folder" doc:"ID of the folder"`
	Label  string `json:"label" doc:"Of the folder; blank: it has none"`
	With   string `json:"with" doc:"ID of the device to which the folder is encrypted with it"`
}

// RevocationProof says what is proven about a revoked device on one managed device.
type RevocationProof struct {
	DeviceID      string `json:"deviceID" doc:"Of the device"`
	Label         string `json:"label" doc:"Of the device; blank: it has none"`
	State         string `json:"state" enum:"there,unproven,gone" doc:"there: the newest configuration has the device; gone: it is proven to be gone"`
	Reason        string `json:"reason" doc:"Why it is not proven to be gone; blank: it is"`
	ConfigAt      *Time  `json:"configAt,omitempty" format:"date-time" doc:"When the configuration was read that did not have the device"`
	ConfigDigest  string `json:"configDigest" doc:"SHA-256 of that configuration, normalised"`
	ConnectionsAt *Time  `json:"connectionsAt,omitempty" format:"date-time" doc:"When the connections were read that did not have the device"`
	Returns       int    `json:"returns" doc:"How often the device was there again after it was proven to be gone"`
	ReturnedAt    *Time  `json:"returnedAt,omitempty" format:"date-time" doc:"When that was seen last"`
}
