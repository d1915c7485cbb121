package timeline

// MoveAll is workspace_move.
var MoveAll = move
