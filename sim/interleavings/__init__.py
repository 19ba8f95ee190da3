"""One job in any legal order of its actions, without ticks, and the search through all orders."""
