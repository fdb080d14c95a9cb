"""sketch/pcsa-ml, se-fm and se-pcsa: tables of time stamps."""
