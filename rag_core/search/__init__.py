"""The read path in five stages: understand → gather → weigh → fold → show."""
