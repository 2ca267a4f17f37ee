// Of the program whose headers others share, nothing is run.
int main() {}
