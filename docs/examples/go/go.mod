module example.org/adverts

go 1.21
