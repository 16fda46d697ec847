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
