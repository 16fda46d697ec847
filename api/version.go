package api

// Version is the program that the server runs.
type Version struct {
	Version string `json:"version" example:"0.1.0" doc:"Of the server, as 0.1.0"`
	Commit  string `json:"commit" doc:"From which it was built; blank when that is not known"`
}
