pytest_plugins = ["picklock_pytest"]
