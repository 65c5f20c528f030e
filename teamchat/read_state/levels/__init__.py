"""What notifies whom: levels, muting and keywords (the capability `notification-levels`, extension D-9)."""
