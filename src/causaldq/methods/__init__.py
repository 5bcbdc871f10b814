"""Methods: what chooses the sensors and what raises the alarm. One file each."""
