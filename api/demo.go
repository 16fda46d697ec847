package api

// Demo is a second server with simulated devices, for people who try Muster.
type Demo struct {
	URL         string `json:"url" doc:"Where its console is; blank when none runs"`
	First       string `json:"first" doc:"Link that makes its first administrator, once; only in the reply that starts it"`
	Unreachable string `json:"unreachable" doc:"Why the client could not reach a demo; blank where it can"`
}
