"""The formats of the original scripts and of the leaderboard: out, in, checked."""
