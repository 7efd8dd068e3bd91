"""What a team needs: signed-in sessions, canaries, notices, triggers and a dashboard, measured together."""
